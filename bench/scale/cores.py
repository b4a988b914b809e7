"""How much more does one machine speak with more cores, and to how many listeners?

`svc serve` and its clients run on the first 2, 4, 8, ... cores of the machine, and on no others. SVC_WORKERS and
SVC_THREADS are the defaults for so many cores, unless numbers of threads are given: then the workers of all processes
have a core for each of their threads.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from bench.load import processes
from bench.report import Report
from bench.scale import engine_alone, speakers
from bench.scale.speakers import Measured

TITLE = "One machine, more and more cores"
_BARS = {"speech a second": 6.0, "listeners": 6.0}
_BAR_CORES = 16, 2
_CORES_A_PROCESS = 4  # as the default of SVC_ENGINE_PROCESSES
TOPOLOGY = Path("/sys/devices/system/cpu")


def measure(
    cores: Sequence[int],
    threads: Sequence[int],
    seconds: float,
    engine: str = "turbo",
    processes_each: int | None = None,
    rounds: int = 1,
    topology: Path = TOPOLOGY,
) -> Report:
    """`threads` are those of a worker; without any, the default of the server. So are the processes, one for each
    `processes_each` cores. Of several `rounds`, the best of each number counts: what others do on the machine makes it
    slower, never faster."""
    order = order_cores(sorted(os.sched_getaffinity(0)), topology)
    there = [each for each in cores if each <= len(order)]
    choices: Sequence[int | None] = threads or [None]
    points: dict[tuple[int, int | None], Measured] = {}
    alone = dict.fromkeys(there, 0.0)
    for _, count in product(range(rounds), there):
        alone[count] = max(alone[count], engine_alone.measure(order[:count], seconds, engine))
        for each in choices:
            chosen: dict[str, object] = share_out(count, each) if each else {}
            if processes_each:
                chosen["processes"] = max(1, count // processes_each)
            with pin(order[:count]), processes.run(engine, **speakers.UNLIMITED, **chosen) as server:
                measured = speakers.measure(server.address, count, seconds)
            points[count, each] = measured.join(points.get((count, each), measured))
    report = make_report(points, alone, missing=[each for each in cores if each not in there])
    if processes_each:
        report.notes.append(f"SVC_PROCESSES: one for {processes_each} cores.")
    if rounds > 1:
        report.notes.append(f"The best of {rounds} rounds.")
    return report


def share_out(cores: int, threads: int) -> dict[str, object]:
    engine_processes = max(1, cores // _CORES_A_PROCESS)
    workers = max(1, cores // threads // engine_processes)
    return {"engine_processes": engine_processes, "workers": workers, "threads": threads}


def make_report(
    points: dict[tuple[int, int | None], Measured], alone: dict[int, float], missing: Sequence[int]
) -> Report:
    report = Report(
        "scale-cores",
        TITLE,
        [
            "cores",
            "threads of a worker",
            "speech a second",
            "ratio",
            "live listeners",
            "ratio",
            "first byte alone",
            "server, ms of a core for a second",
            "engine alone",
            "ratio",
            "bar",
        ],
    )
    least = min((count for count, _ in points), default=0)
    for (count, threads), each in points.items():
        first = points[least, threads]
        ratios = each.speech_a_second / first.speech_a_second, each.listeners / max(first.listeners, 1)
        met = all(ratio >= bar for ratio, bar in zip(ratios, _BARS.values(), strict=True))
        report.rows.append([
            str(count),
            str(threads or "default"),
            f"{each.speech_a_second:.1f}",
            f"{ratios[0]:.2f}",
            str(each.listeners),
            f"{ratios[1]:.2f}",
            f"{1000 * each.first_byte:.0f} ms",
            f"{1000 * each.server_seconds:.2f}",
            f"{alone[count]:.1f}",
            f"{alone[count] / alone[least]:.2f}",
            "" if (count, least) != _BAR_CORES else "met" if met else "missed",
        ])  # fmt: skip
    report.notes = [
        "Clients and server share the cores. The two threads of a core, where it has two, are taken one after the "
        f"other. Bars for {_BAR_CORES[0]} cores to {_BAR_CORES[1]}: "
        + ", ".join(f"{name} {bar:g} times" for name, bar in _BARS.items())
        + ". Engine alone: speech a second of a process with one thread on each core, without server and clients, "
        "which is all that the cores have. Server: CPU time of the process that answers the requests, for a second of "
        "speech; where the engine is in other processes, a full core is the most that it can serve.",
        speakers.EXPLANATION,
    ]
    if missing:
        report.notes.append(f"This machine has no {' or '.join(map(str, missing))} cores.")
    report.figures["engine_alone"] = alone
    report.figures["points"] = [
        {"cores": count, "threads": threads, **each.describe()} for (count, threads), each in points.items()
    ]
    return report


def order_cores(cpus: Sequence[int], topology: Path) -> list[int]:
    """The processors that Linux counts, those of one core after each other.

    So two of sixteen are what is sold as two: taken from different cores, they would be faster than two of a machine
    that has but two.
    """

    def place(cpu: int) -> tuple[int, int]:
        file = topology / f"cpu{cpu}/topology/thread_siblings_list"
        siblings = re.findall(r"\d+", file.read_text()) if file.exists() else []
        return min(map(int, siblings), default=cpu), cpu

    return sorted(cpus, key=place)


@contextmanager
def pin(cpus: Sequence[int]) -> Iterator[None]:
    """This thread, and what it starts meanwhile, runs on these processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
