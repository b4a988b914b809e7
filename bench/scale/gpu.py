"""How much speech does an engine that batches make in a second, alone and over HTTP, and how soon does it begin?"""

import asyncio
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import typer

from bench import options, sentences
from bench.report import Report
from bench.server import run_server
from svc.app import create_engine, create_voices
from svc.engine.protocol import Utterance
from svc.settings import Settings
from svc.text.g2p import Phonemizer
from svc.text.language import Language

T = TypeVar("T")

_BYTES_PER_SECOND = 2 * 24_000
_CLIENTS = 8  # processes that share the streams of the clients, so that these are not what is measured
_WARM_UP_SECONDS = 3.0
_NO_REFUSALS = {"SVC_MAX_STREAMS": "1024", "SVC_MAX_WAITING": "1024", "SVC_MAX_LOAD": "1", "SVC_QUEUE_SECONDS": "60"}


@dataclass(frozen=True, slots=True)
class Heard:
    """A text: how soon its first audio came, and how much there was in all, both in seconds."""

    first: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    heard: list[Heard]
    elapsed: float
    cpu: float
    """Seconds of processors, of the engine's or the server's process."""

    def summarize(self) -> dict[str, float]:
        first = sorted(each.first for each in self.heard)
        speech = sum(each.seconds for each in self.heard)
        return {
            "speech_a_second": speech / self.elapsed,
            "cpu_for_a_second": self.cpu / speech,
            "first_median": median(first),
            "first_95": first[int(0.95 * len(first))],
            "texts": len(first),
        }


def main(
    at_once: Annotated[str, typer.Option(help="Utterances at once, engine alone.")] = "1,16,64,256",
    streams: Annotated[str, typer.Option(help="Streams at once, over HTTP.")] = "1,16,64",
    seconds: Annotated[float, typer.Option(help="How long each number is measured.")] = 10,
    length: Annotated[int, typer.Option(help="Sentences in each text over HTTP.", min=1)] = 4,
    output: options.Output = None,
) -> None:
    """SVC_ENGINE and SVC_DEVICE say of what. Every stream speaks one text after the other."""
    settings = Settings()
    texts = [each.text for each in sentences.read("en")]
    longer = [" ".join(texts[i : i + length]) for i in range(0, len(texts), length)]
    measured = {
        "engine alone": measure_engine(settings, texts, _parse(at_once), seconds),
        "over HTTP": measure_service(longer, _parse(streams), seconds),
    }
    found = {name: {count: each.summarize() for count, each in by.items()} for name, by in measured.items()}
    report = Report(
        "gpu",
        f"Speech in a second, SVC_ENGINE={settings.engine}, SVC_DEVICE={settings.device}",
        [
            "",
            "at once",
            "seconds of speech a second",
            "first audio, median",
            "95th percentile",
            "CPU time for a second",
        ],
        [
            [
                name,
                str(count),
                f"{each['speech_a_second']:,.0f}",
                f"{1000 * each['first_median']:.0f} ms",
                f"{1000 * each['first_95']:.0f} ms",
                f"{1000 * each['cpu_for_a_second']:.2f} ms",
            ]
            for name, by_count in found.items()
            for count, each in by_count.items()
        ],
        notes=[f"Alone, every text is a sentence; over HTTP, {length} of them. At once: each asks for its next text."],
        figures={"device": settings.device, "seconds": seconds, "length": length, "found": found},
    )
    report.show()
    report.save(output)


def measure_engine(settings: Settings, texts: list[str], counts: list[int], seconds: float) -> dict[int, Measured]:
    """So many threads at once, without the service."""
    engine = create_engine(settings)
    engine.load()
    style = create_voices(settings).find(sentences.VOICE).style
    phonemizer = Phonemizer()
    phonemes = [each for text in texts for each in sentences.phonemize(phonemizer, text, Language.ENGLISH_US)]

    def speak(phonemes: str) -> Heard:
        began = time.perf_counter()
        chunks = engine.synthesize(Utterance(phonemes, style))
        samples = len(next(chunks).samples)
        first = time.perf_counter() - began
        return Heard(first, (samples + sum(len(chunk.samples) for chunk in chunks)) / engine.sample_rate)

    def measure(count: int, period: float) -> Measured:
        began, cpu = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(count) as pool:
            heard = pool.map(lambda items: _repeat(speak, items, began + period), _share(phonemes, count))
            return Measured(_join(heard), time.perf_counter() - began, time.process_time() - cpu)

    return {count: (measure(count, _WARM_UP_SECONDS), measure(count, seconds))[1] for count in counts}


def measure_service(texts: list[str], counts: list[int], seconds: float) -> dict[int, Measured]:
    """So many clients at once, each of which asks for its next text when it has the last one."""
    os.environ |= _NO_REFUSALS  # the server inherits them
    measured = {}
    with run_server() as server, ProcessPoolExecutor(_CLIENTS) as pool:
        for count in counts:
            shares = _share(_share(texts, count), min(_CLIENTS, count), once=True)
            for period in (_WARM_UP_SECONDS, seconds):
                jobs = [(server.address, share, period) for share in shares]
                began, cpu = time.perf_counter(), server.cpu_seconds()
                heard = _join(pool.map(_stream_all, jobs))
                measured[count] = Measured(heard, time.perf_counter() - began, server.cpu_seconds() - cpu)
    return measured


def _stream_all(job: tuple[str, list[list[str]], float]) -> list[Heard]:
    """The streams of one process of clients: for each, its texts, over and over again."""
    address, streams, period = job
    end = time.perf_counter() + period

    async def repeat(texts: list[str]) -> list[Heard]:
        heard = []
        for text in itertools.cycle(texts):
            heard.append(await _stream(address, text))
            if time.perf_counter() > end:
                break
        return heard

    async def run() -> list[list[Heard]]:
        return await asyncio.gather(*(repeat(texts) for texts in streams))

    return [each for some in asyncio.run(run()) for each in some]


async def _stream(address: str, text: str) -> Heard:
    content = json.dumps({"text": text}).encode()
    url = urlsplit(address)
    path = f"/v1/text-to-speech/{sentences.VOICE}/stream?output_format=pcm_24000"
    head = f"POST {path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    began, first, received = time.perf_counter(), 0.0, 0
    reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=1 << 20)
    writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server answered {answer.splitlines()[0].decode()}")
    while size := int(await reader.readline(), 16):
        first = first or time.perf_counter() - began
        await reader.readexactly(size + 2)
        received += size
    writer.close()
    return Heard(first, received / _BYTES_PER_SECOND)


def _repeat(speak: Callable[[str], Heard], items: Sequence[str], end: float) -> list[Heard]:
    heard = []
    for item in itertools.cycle(items):
        heard.append(speak(item))
        if time.perf_counter() > end:
            break
    return heard


def _join(results: Iterator[list[Heard]]) -> list[Heard]:
    return [each for some in results for each in some]


def _share(items: Sequence[T], count: int, *, once: bool = False) -> list[list[T]]:
    """A list for each of so many: all items, each beginning at another one; with `once`, each item in one list."""
    if once:
        return [list(items[i::count]) for i in range(count)]
    return [[*items[i % len(items) :], *items[: i % len(items)]] for i in range(count)]


def _parse(counts: str) -> list[int]:
    return [int(count) for count in counts.split(",") if count]


if __name__ == "__main__":
    typer.run(main)
