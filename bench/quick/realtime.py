"""Realtime: how soon speech follows text that is still being written, and whether it ever has to wait for more."""

import asyncio
import base64
import json
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from statistics import median
from typing import Annotated, Any

import typer
from rich.progress import Progress
from websockets.asyncio.client import connect

from bench import options, sentences, server
from bench.report import Report

VOICE = "af_heart"
WORDS_A_SECOND = 15  # a language model, writing
WORDS = 70  # about what an assistant answers
SOCKETS = (1, 4, 8)
_BYTES_A_SECOND = 2 * 24_000  # of pcm_24000
_PHRASE_ENDS = ".,;:!?"


@dataclass(frozen=True)
class Measure:
    first_audio: float
    """Seconds from the word that completes the first phrase to the first sound."""
    longest_gap: float
    """The longest silence of a player that starts with the first sound, in seconds."""
    speech: float
    """Seconds of speech."""
    after_text: float
    """Seconds from the last word to the last sound: negative where all was spoken before."""


def main(
    rounds: Annotated[int, typer.Option(help="How often each number of sockets.", min=1)] = 3,
    output: options.Output = None,
) -> None:
    """Each socket gets another part of a story, word by word; the peer sends its text when all of it is written."""
    words = " ".join(sentence.text for sentence in sentences.read("story")).split()
    texts = [_part(words, index) for index in range(max(SOCKETS))]
    ways = {"svc, words over a socket": _dictated, "svc, POST /stream once all is written": _posted}
    taken: dict[str, dict[int, list[Measure]]] = {way: {count: [] for count in SOCKETS} for way in ways}
    with server.running("turbo") as svc, Progress() as progress:
        asyncio.run(_dictated(svc, texts[0]))  # the first time pays for what is loaded late
        task = progress.add_task("speaking", total=rounds * len(SOCKETS) * len(ways))
        for _ in range(rounds):
            for count in SOCKETS:
                for way, speak in ways.items():
                    taken[way][count] += asyncio.run(_together([speak(svc, text) for text in texts[:count]]))
                    progress.advance(task)
    report = Report(
        "realtime",
        f"Realtime: a language model writes {WORDS_A_SECOND} words a second",
        ["way", "at once", "first phrase to first sound, median", "worst", "longest gap in playback", "speech"],
        figures={way: {count: list(map(asdict, runs)) for count, runs in by.items()} for way, by in taken.items()},
    )
    for way, by_count in taken.items():
        for count, measures in by_count.items():
            firsts = [measure.first_audio for measure in measures]
            gap = max(measure.longest_gap for measure in measures)
            report.rows.append([
                way, str(count), f"{median(firsts) * 1000:.0f} ms", f"{max(firsts) * 1000:.0f} ms",
                f"{gap * 1000:.0f} ms", f"{median(measure.speech for measure in measures):.0f} s each",
            ])  # fmt: skip
    report.notes = [
        f"Each text has {WORDS} words. A phrase has at least 25 characters, or is a sentence, and is complete with the "
        "word before its comma or full stop; the server can know that when the next word comes, 67 ms later. A player "
        "begins with the first sound; a gap is how long it then has nothing to play.",
    ]
    report.show()
    report.save(output)


def _part(words: list[str], index: int) -> list[str]:
    """So many words from the beginning of some sentence on."""
    starts = [at for at, word in enumerate(words) if at == 0 or words[at - 1].endswith(".")]
    start = starts[index * 5]
    return words[start : start + WORDS]


def _first_phrase(words: list[str]) -> int:
    """The index of the word that completes it."""
    length = 0
    for index, word in enumerate(words):
        length += len(word) + 1
        if word[-1] in _PHRASE_ENDS and (length >= 25 or word[-1] in ".!?"):
            return index
    return len(words) - 1


async def _together(speaking: list[Coroutine[Any, Any, Measure]]) -> list[Measure]:
    return list(await asyncio.gather(*speaking))


async def _dictated(svc: server.Server, words: list[str]) -> Measure:
    address = svc.address.replace("http", "ws", 1)
    written: list[float] = []
    sounds: list[tuple[float, float]] = []
    async with connect(f"{address}/v1/text-to-speech/{VOICE}/stream-input?output_format=pcm_24000") as socket:
        await socket.send(json.dumps({"text": " "}))

        async def write() -> None:
            began = time.perf_counter()
            for index, word in enumerate(words):
                await asyncio.sleep(began + index / WORDS_A_SECOND - time.perf_counter())
                await socket.send(json.dumps({"text": word + " "}))
                written.append(time.perf_counter())
            await socket.send(json.dumps({"text": ""}))

        writing = asyncio.create_task(write())
        async for frame in socket:
            audio = base64.b64decode(json.loads(frame)["audio"] or "")
            sounds.append((time.perf_counter(), len(audio) / _BYTES_A_SECOND))
        await writing
    return _measure(written, sounds, _first_phrase(words))


async def _posted(svc: server.Server, words: list[str]) -> Measure:
    """What a client does that cannot send its text bit by bit."""
    began = time.perf_counter()
    written = [began + index / WORDS_A_SECOND for index in range(len(words))]
    await asyncio.sleep(len(words) / WORDS_A_SECOND)

    def streamed() -> list[tuple[float, float]]:
        parts = svc.stream(VOICE, "pcm_24000", {"text": " ".join(words)})
        return [(time.perf_counter(), len(part) / _BYTES_A_SECOND) for part in parts]

    with ThreadPoolExecutor(1) as thread:
        sounds = await asyncio.get_running_loop().run_in_executor(thread, streamed)
    return _measure(written, sounds, _first_phrase(words))


def _measure(written: list[float], sounds: list[tuple[float, float]], phrase: int) -> Measure:
    played_until, longest = sounds[0][0], 0.0
    for arrived, seconds in sounds:
        longest = max(longest, arrived - played_until)
        played_until = max(played_until, arrived) + seconds
    return Measure(
        first_audio=sounds[0][0] - written[phrase],
        longest_gap=longest,
        speech=sum(seconds for _, seconds in sounds),
        after_text=sounds[-1][0] - written[-1],
    )


if __name__ == "__main__":
    typer.run(main)
