"""What does Ray cost on one machine? `svc serve` and `svc serve --cluster` take turns with the same requests.

Both run all the time, and only one works at a time. Other load changes the seconds, and less the differences.
"""

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.load.processes import ServerProcess
from bench.report import Report
from bench.scale import speakers

TITLE = "What Ray costs on one machine"
FIRST_BYTE, SPEECH = "first byte, one request", "speech a second"
_BARS = {FIRST_BYTE: 15.0, SPEECH: -10.0}  # milliseconds, percent
_STOPS_WITHIN = 240.0

Rounds = dict[str, list[tuple[float, float]]]
"""For each question what was measured in each round: without Ray, and with it."""


def measure(rounds: int, requests: int, streams: int, seconds: float, engine: str = "turbo") -> Report:
    with TemporaryDirectory(prefix="svc-scale-") as folder:
        plain, cluster = (ServerProcess(Path(folder) / name, engine, None, **speakers.UNLIMITED) for name in "ab")
        cluster.arguments.append("--cluster")
        servers = plain, cluster
        try:
            for server in servers:
                server.start()
                asyncio.run(speakers.measure_speech(server.address, streams, seconds))  # warms it
            measured: Rounds = {FIRST_BYTE: [], SPEECH: []}
            for number in range(rounds):
                # Each goes first as often as the other.
                order = servers if number % 2 else servers[::-1]
                found = {server: asyncio.run(_measure(server.address, requests, streams, seconds)) for server in order}
                for question, *pair in zip(measured, *(found[server] for server in servers), strict=True):
                    measured[question].append((pair[0], pair[1]))
        finally:
            for server in servers:
                if server.alive():
                    server.terminate()
                    server.wait(_STOPS_WITHIN)
    return make_report(measured, streams)


async def _measure(address: str, requests: int, streams: int, seconds: float) -> tuple[float, float]:
    first_byte = await speakers.measure_first_byte(address, requests)
    return first_byte, await speakers.measure_speech(address, streams, seconds)


def make_report(measured: Rounds, streams: int) -> Report:
    """The differences are medians of those of each round."""
    report = Report("scale-ray-cost", TITLE, ["", "svc serve", "svc serve --cluster", "difference", "bar"])
    first_bytes, speech = measured[FIRST_BYTE], measured[SPEECH]
    later = median(1000 * (ray - plain) for plain, ray in first_bytes)
    more = median(100 * (ray / plain - 1) for plain, ray in speech)
    plain, ray = (median(1000 * each[number] for each in first_bytes) for number in (0, 1))
    met = "met" if later <= _BARS[FIRST_BYTE] else "missed"
    report.rows.append([FIRST_BYTE, f"{plain:.0f} ms", f"{ray:.0f} ms", f"{later:+.0f} ms", met])
    plain, ray = (median(each[number] for each in speech) for number in (0, 1))
    met = "met" if more >= _BARS[SPEECH] else "missed"
    report.rows.append([f"{SPEECH}, {streams} streams", f"{plain:.1f} s", f"{ray:.1f} s", f"{more:+.0f} %", met])
    report.notes.append(
        f"{len(speech)} rounds by turns; the differences are medians of those of each round. Bars: first byte "
        f"{_BARS[FIRST_BYTE]:+.0f} ms, speech {_BARS[SPEECH]:+.0f} %."
    )
    report.figures["measured"] = measured
    return report
