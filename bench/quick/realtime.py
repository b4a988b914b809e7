"""How soon does speech follow a text that is still being written, and does playback ever run out of audio?"""

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
WORDS_A_SECOND = 15  # of a language model
WORDS = 70  # a typical answer of an assistant
SOCKETS = (1, 4, 8)
_BYTES_A_SECOND = 2 * 24_000  # of pcm_24000
_PHRASE_ENDS = ".,;:!?"


@dataclass(frozen=True)
class Measure:
    first_audio: float
    """Seconds from the word that completes the first phrase to the first audio."""
    longest_gap: float
    """The longest time, in seconds, that a player has nothing to play after the first audio."""
    speech: float
    """Seconds of speech."""
    after_text: float
    """Seconds from the last word to the last audio; negative if all audio came before."""


def main(
    rounds: Annotated[int, typer.Option(help="Rounds for each number of sockets.", min=1)] = 3,
    output: options.Output = None,
) -> None:
    """Each socket gets another part of a story, word by word; the comparison sends the text once it is complete."""
    words = " ".join(sentence.text for sentence in sentences.read("story")).split()
    texts = [_cut_text(words, index) for index in range(max(SOCKETS))]
    ways = {"svc, words over a socket": _stream_words, "svc, POST /stream once all is written": _post_text}
    results: dict[str, dict[int, list[Measure]]] = {way: {count: [] for count in SOCKETS} for way in ways}
    with server.run_server("turbo") as svc, Progress() as progress:
        asyncio.run(_stream_words(svc, texts[0]))  # warm-up
        task = progress.add_task("synthesising", total=rounds * len(SOCKETS) * len(ways))
        for _ in range(rounds):
            for count in SOCKETS:
                for way, synthesize in ways.items():
                    results[way][count] += asyncio.run(_run_together([synthesize(svc, text) for text in texts[:count]]))
                    progress.advance(task)
    report = Report(
        "realtime",
        f"Realtime: a language model writes {WORDS_A_SECOND} words a second",
        ["way", "at once", "first phrase to first sound, median", "worst", "longest gap in playback", "speech"],
        figures={way: {count: list(map(asdict, runs)) for count, runs in by.items()} for way, by in results.items()},
    )
    for way, by_count in results.items():
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


def _cut_text(words: list[str], index: int) -> list[str]:
    """`WORDS` words from the beginning of a sentence."""
    starts = [at for at, word in enumerate(words) if at == 0 or words[at - 1].endswith(".")]
    start = starts[index * 5]
    return words[start : start + WORDS]


def _find_first_phrase(words: list[str]) -> int:
    """The index of the word that completes it."""
    length = 0
    for index, word in enumerate(words):
        length += len(word) + 1
        if word[-1] in _PHRASE_ENDS and (length >= 25 or word[-1] in ".!?"):
            return index
    return len(words) - 1


async def _run_together(runs: list[Coroutine[Any, Any, Measure]]) -> list[Measure]:
    return list(await asyncio.gather(*runs))


async def _stream_words(svc: server.Server, words: list[str]) -> Measure:
    address = svc.address.replace("http", "ws", 1)
    written: list[float] = []
    audio: list[tuple[float, float]] = []
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
            chunk = base64.b64decode(json.loads(frame)["audio"] or "")
            audio.append((time.perf_counter(), len(chunk) / _BYTES_A_SECOND))
        await writing
    return _measure(written, audio, _find_first_phrase(words))


async def _post_text(svc: server.Server, words: list[str]) -> Measure:
    """A client that sends its text only when it is complete."""
    began = time.perf_counter()
    written = [began + index / WORDS_A_SECOND for index in range(len(words))]
    await asyncio.sleep(len(words) / WORDS_A_SECOND)

    def stream() -> list[tuple[float, float]]:
        parts = svc.stream(VOICE, "pcm_24000", {"text": " ".join(words)})
        return [(time.perf_counter(), len(part) / _BYTES_A_SECOND) for part in parts]

    with ThreadPoolExecutor(1) as thread:
        audio = await asyncio.get_running_loop().run_in_executor(thread, stream)
    return _measure(written, audio, _find_first_phrase(words))


def _measure(written: list[float], audio: list[tuple[float, float]], phrase: int) -> Measure:
    played_until, longest = audio[0][0], 0.0
    for arrived, seconds in audio:
        longest = max(longest, arrived - played_until)
        played_until = max(played_until, arrived) + seconds
    return Measure(
        first_audio=audio[0][0] - written[phrase],
        longest_gap=longest,
        speech=sum(seconds for _, seconds in audio),
        after_text=audio[-1][0] - written[-1],
    )


if __name__ == "__main__":
    typer.run(main)
