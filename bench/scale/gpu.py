"""How much speech does a GPU make in a second, by the engine alone and over HTTP, and how soon does it begin?

SVC_ENGINE and SVC_DEVICE say of what.
"""

import asyncio
import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import typer

from bench import options, sentences
from bench.report import Report
from bench.server import Server, run_server
from svc.engine.protocol import Utterance
from svc.service import create_engine, create_voices
from svc.settings import Settings
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language

T = TypeVar("T")

_BYTES_PER_SECOND = 2 * 24_000
_CLIENTS = 8  # processes that share the streams of the clients, so that these are not what is measured
_WARM_UP_SECONDS = 2.0
_NO_REFUSALS = {"SVC_MAX_STREAMS": "1024", "SVC_MAX_WAITING": "1024", "SVC_MAX_LOAD": "1", "SVC_QUEUE_SECONDS": "60"}


@dataclass(frozen=True, slots=True)
class Heard:
    """A text: how soon its first audio came, how much there was, and how much in the measured time; all in seconds."""

    first: float
    seconds: float
    in_time: float


@dataclass(frozen=True, slots=True)
class Measured:
    heard: list[Heard]
    period: float
    cpu: float
    """Seconds of processors, of the engine's process or those of the servers."""

    def summarize(self) -> dict[str, float]:
        first = sorted(each.first for each in self.heard)
        speech = sum(each.seconds for each in self.heard)
        return {
            "speech_a_second": sum(each.in_time for each in self.heard) / self.period,
            "cpu_for_a_second": self.cpu / speech,
            "first_median": median(first),
            "first_95": first[int(0.95 * len(first))],
            "texts": len(first),
        }


app = typer.Typer(add_completion=False, help=__doc__, no_args_is_help=True)

Seconds = Annotated[float, typer.Option(help="How long each number is measured.")]


@app.command("engine")
def measure_engine(
    at_once: Annotated[str, typer.Option(help="Utterances at once.")] = "1,16,64,256",
    seconds: Seconds = 10,
    name: Annotated[str, typer.Option(help="Of the report.")] = "gpu-engine",
    output: options.Output = None,
) -> None:
    """The engine alone: every text is a sentence, and each thread speaks one after the other."""
    settings = Settings()
    report = _create_report(name, f"The engine alone, {_describe(settings)}", "utterances at once", seconds)
    texts = [each.text for each in sentences.read("en")]
    for count, measured in run_engine(settings, texts, _parse(at_once), seconds):
        _add(report, str(count), measured, output)
    report.show()


@app.command("http")
def measure_service(
    servers: Annotated[str, typer.Option(help="Server processes that share the GPU.")] = "1,4",
    streams: Annotated[str, typer.Option(help="Streams at once, over all servers.")] = "1,16,64",
    seconds: Seconds = 10,
    length: Annotated[int, typer.Option(help="Sentences in each text.", min=1)] = 4,
    name: Annotated[str, typer.Option(help="Of the report.")] = "gpu-http",
    output: options.Output = None,
) -> None:
    """The service over HTTP: each stream asks for its next text when it has the last one."""
    report = _create_report(name, f"Over HTTP, {_describe(Settings())}", "servers, streams at once", seconds)
    report.notes.append(f"POST /stream, pcm_24000, texts of {length} sentences. The clients run on the same machine.")
    texts = [each.text for each in sentences.read("en")]
    longer = [" ".join(texts[i : i + length]) for i in range(0, len(texts), length)]
    for count in _parse(servers):
        for each, measured in run_service(longer, count, _parse(streams), seconds):
            _add(report, f"{count}, {each}", measured, output)
    report.show()


def _create_report(name: str, title: str, counted: str, seconds: float) -> Report:
    columns = [counted, "seconds of speech a second", "first audio, median", "95th percentile", "CPU time for a second"]
    return Report(name, title, columns, figures={"seconds": seconds, "found": {}})


def _describe(settings: Settings) -> str:
    return f"SVC_ENGINE={settings.engine}, SVC_DEVICE={settings.device}"


def _add(report: Report, name: str, measured: Measured, output: options.Output) -> None:
    """Saves what there is so far, too: the next number may fail."""
    each = report.figures["found"][name] = measured.summarize()
    row = [
        name,
        f"{each['speech_a_second']:,.0f}",
        f"{1000 * each['first_median']:.0f} ms",
        f"{1000 * each['first_95']:.0f} ms",
        f"{1000 * each['cpu_for_a_second']:.2f} ms",
    ]
    report.rows.append(row)
    report.save(output)
    print(report.name, *row, sep=" | ", flush=True)


def run_engine(
    settings: Settings, texts: list[str], counts: list[int], seconds: float
) -> Iterator[tuple[int, Measured]]:
    """So many threads at once, without the service."""
    engine = create_engine(settings)
    engine.load()
    style = create_voices(settings).find(sentences.VOICE).style
    phonemizer = Phonemizer()
    phonemes = [each for text in texts for each in sentences.phonemize(phonemizer, text, Language.ENGLISH_US)]

    def speak(phonemes: str, end: float) -> Heard:
        listening = _Listening(end)
        for chunk in engine.synthesize(Utterance(phonemes, style)):
            listening.add(len(chunk.samples) / engine.sample_rate)
        return listening.finish()

    def measure(count: int, period: float) -> Measured:
        end, cpu = time.perf_counter() + period, time.process_time()

        def repeat(items: list[str]) -> list[Heard]:
            return [
                speak(item, end)
                for item in itertools.takewhile(lambda _: time.perf_counter() < end, itertools.cycle(items))
            ]

        with ThreadPoolExecutor(count) as pool:
            heard = _join(pool.map(repeat, _share(phonemes, count)))
        return Measured(heard, period, time.process_time() - cpu)

    for count in counts:
        measure(count, _WARM_UP_SECONDS)
        yield count, measure(count, seconds)


def run_service(texts: list[str], servers: int, counts: list[int], seconds: float) -> Iterator[tuple[int, Measured]]:
    """So many clients at once, each of which asks for its next text when it has the last one."""
    os.environ |= _NO_REFUSALS  # the servers inherit them
    with ProcessPoolExecutor(_CLIENTS) as pool, _run_servers(servers) as running:
        for count in counts:
            streams = [(running[i % servers].address, share) for i, share in enumerate(_share(texts, count))]
            shares = _share(streams, min(_CLIENTS, count), once=True)
            for period in (_WARM_UP_SECONDS, seconds):
                cpu = sum(each.cpu_seconds() for each in running)
                heard = _join(pool.map(_stream_all, shares, itertools.repeat(period)))
            yield count, Measured(heard, seconds, sum(each.cpu_seconds() for each in running) - cpu)


@contextmanager
def _run_servers(count: int) -> Iterator[list[Server]]:
    """Starts them at the same time: most of that is loading CUDA."""
    with ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        yield list(pool.map(stack.enter_context, [run_server() for _ in range(count)]))


def _stream_all(streams: list[tuple[str, list[str]]], period: float) -> list[Heard]:
    """The streams of one process of clients: for each, its server and its texts, over and over again."""
    end = time.perf_counter() + period

    async def repeat(address: str, texts: list[str]) -> list[Heard]:
        heard = []
        for text in itertools.cycle(texts):
            heard.append(await _stream(address, text, end))
            if time.perf_counter() > end:
                break
        return heard

    async def run() -> list[list[Heard]]:
        return await asyncio.gather(*itertools.starmap(repeat, streams))

    return [each for some in asyncio.run(run()) for each in some]


async def _stream(address: str, text: str, end: float) -> Heard:
    content = json.dumps({"text": text}).encode()
    url = urlsplit(address)
    path = f"/v1/text-to-speech/{sentences.VOICE}/stream?output_format=pcm_24000"
    head = f"POST {path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    listening = _Listening(end)
    reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=1 << 20)
    writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server answered {answer.splitlines()[0].decode()}")
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
        listening.add(size / _BYTES_PER_SECOND)
    writer.close()
    return listening.finish()


class _Listening:
    """Counts the audio of a text as it comes; `end` is that of the measured time."""

    def __init__(self, end: float) -> None:
        self._began, self._end = time.perf_counter(), end
        self._first: float | None = None
        self._seconds = self._in_time = 0.0

    def add(self, seconds: float) -> None:
        now = time.perf_counter()
        if self._first is None:
            self._first = now - self._began
        self._seconds += seconds
        self._in_time += seconds if now < self._end else 0.0

    def finish(self) -> Heard:
        if self._first is None:
            raise RuntimeError("there was no audio")
        return Heard(self._first, self._seconds, self._in_time)


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
    app()
