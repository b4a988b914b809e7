"""What does Ray cost on one machine? `svc serve` and `svc serve --cluster` take turns with the same requests.

Both run all the time, and only one works at a time. Other load changes the seconds, and less the ratios.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bench.load.processes import ServerProcess
from bench.report import Report

_SHORT = "The train to the coast leaves in ten minutes."
_LONG = (
    "When the storm came in from the west, the whole harbour went quiet, and the boats pulled at their ropes. "
    "Nobody spoke of the two who were still out at sea. Towards morning the wind turned, and somebody saw a sail."
)
_PATH = "/v1/text-to-speech/af_heart/stream?output_format=pcm_24000"
_BYTES_PER_SECOND = 48_000


def measure_first_byte(server: ServerProcess, requests: int) -> float:
    """The median, in milliseconds."""
    return 1000 * statistics.median(_request(server, f"{_SHORT} {number}")[0] for number in range(requests))


def measure_throughput(server: ServerProcess, streams: int) -> float:
    """Seconds of speech in a second, of so many streams at once."""
    started = time.perf_counter()
    with ThreadPoolExecutor(streams) as threads:
        seconds = sum(each[1] for each in threads.map(lambda _: _request(server, _LONG), range(streams)))
    return seconds / (time.perf_counter() - started)


def _request(server: ServerProcess, text: str) -> tuple[float, float]:
    """The seconds until the first audio, and the seconds of audio."""
    started, first, length = time.perf_counter(), 0.0, 0
    with httpx.stream("POST", server.address + _PATH, json={"text": text}, timeout=600) as response:
        response.raise_for_status()
        for piece in response.iter_raw():
            first = first or time.perf_counter() - started
            length += len(piece)
    return first, length / _BYTES_PER_SECOND


def run(rounds: int, requests: int, streams: int, engine: str) -> Report:
    questions: dict[str, Callable[[ServerProcess], float]] = {
        "first byte, one request, ms": lambda server: measure_first_byte(server, requests),
        f"speech a second, {streams} streams": lambda server: measure_throughput(server, streams),
    }
    with TemporaryDirectory(prefix="svc-scale-") as folder:
        limits = {"max_streams": streams * 2, "queue_seconds": 600, "max_load": 1}
        servers = {name: ServerProcess(Path(folder) / name, engine, None, **limits) for name in ("plain", "cluster")}
        servers["cluster"].arguments.append("--cluster")
        try:
            for server in servers.values():
                server.start()
                measure_throughput(server, streams)  # warms it
            measured = {question: {name: list[float]() for name in servers} for question in questions}
            for number in range(rounds):
                # Each goes first as often as the other.
                for name in sorted(servers, reverse=bool(number % 2)):
                    for question, ask in questions.items():
                        measured[question][name].append(ask(servers[name]))
        finally:
            for server in servers.values():
                if server.alive():
                    server.stop()
    report = Report("ray-cost", "What Ray costs on one machine", ["", "svc serve", "svc serve --cluster", "difference"])
    for question, by_name in measured.items():
        plain, cluster = (statistics.median(by_name[name]) for name in servers)
        pairs = zip(by_name["plain"], by_name["cluster"], strict=True)
        if question.endswith(", ms"):
            difference = f"{statistics.median(each[1] - each[0] for each in pairs):+.0f} ms"
        else:
            difference = f"{100 * (statistics.median(each[1] / each[0] for each in pairs) - 1):+.0f} %"
        report.rows.append([question, f"{plain:.1f}", f"{cluster:.1f}", difference])
    report.notes.append(f"{rounds} rounds by turns; the differences are medians of those of each round.")
    report.figures["measured"] = measured
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--engine", default="turbo")
    parser.add_argument("-o", "--output", type=Path, help="the folder for the results")
    options = parser.parse_args()
    report = run(options.rounds, options.requests, options.streams, options.engine)
    report.show()
    report.save(options.output)


if __name__ == "__main__":
    main()
