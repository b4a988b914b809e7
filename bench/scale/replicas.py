"""How much more do two and four replicas of the engine speak than one, behind `svc serve --cluster`?

Every replica brings cores of its own, as a machine would. They are those of one machine, which slow each other down:
as many separate servers on the same cores, which share nothing else, show by how much.
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.load import processes
from bench.load.processes import ServerProcess, wait_until
from bench.report import Report
from bench.scale import cores, speakers

TITLE = "One, two and four replicas of the engine"
_BAR = 0.9
_CLIENTS_EACH = 4
_STARTS_WITHIN, _STOPS_WITHIN = 600.0, 240.0


@dataclass(frozen=True, slots=True)
class Speech:
    """Seconds of it a second."""

    cluster: float
    separate: float


def measure(
    replicas: Sequence[int],
    cores_each: int,
    seconds: float,
    engine: str = "turbo",
    topology: Path = cores.TOPOLOGY,
) -> Report:
    order = cores.order_cores(sorted(os.sched_getaffinity(0)), topology)
    speech: dict[int, Speech] = {}
    for count in [each for each in replicas if each * cores_each <= len(order)]:
        shares = [order[cores_each * number : cores_each * (number + 1)] for number in range(count)]
        with cores.pin(order[: cores_each * count]):
            speech[count] = Speech(_measure_cluster(count, seconds, engine), _measure_separate(shares, seconds, engine))
    return make_report(speech, cores_each, missing=[each for each in replicas if each not in speech])


def _measure_cluster(count: int, seconds: float, engine: str) -> float:
    with TemporaryDirectory(prefix="svc-scale-") as folder:
        server = ServerProcess(
            Path(folder),
            engine,
            None,
            workers=1,
            threads=1,
            cluster_min_replicas=count,
            cluster_max_replicas=count,
            cluster_api_replicas=count,
            **speakers.UNLIMITED,
        )
        server.arguments.append("--cluster")
        server.start()
        try:
            started = f"Engine: running, {count} {'replica' if count == 1 else 'replicas'} running"
            wait_until(lambda: started in server.read_log(), _STARTS_WITHIN, started)
            return _measure_speech([server] * count, seconds)
        finally:
            server.terminate()
            server.wait(_STOPS_WITHIN)


def _measure_separate(shares: Sequence[Sequence[int]], seconds: float, engine: str) -> float:
    with ExitStack() as stack:
        servers = []
        for share in shares:
            with cores.pin(share):
                one = processes.run(engine, engine_processes=1, workers=1, threads=1, **speakers.UNLIMITED)
                servers.append(stack.enter_context(one))
        return _measure_speech(servers, seconds)


def _measure_speech(servers: Sequence[ServerProcess], seconds: float) -> float:
    async def measure() -> float:
        rates = (speakers.measure_speech(each.address, _CLIENTS_EACH, seconds) for each in servers)
        return sum(await asyncio.gather(*rates))

    asyncio.run(measure())  # warms them
    return asyncio.run(measure())


def make_report(speech: dict[int, Speech], cores_each: int, missing: Sequence[int]) -> Report:
    report = Report(
        "scale-replicas",
        TITLE,
        ["replicas", "cores", "speech a second", "efficiency", "separate servers", "their efficiency", "bar"],
    )
    least = min(speech, default=1)
    for count, rate in speech.items():
        efficiency, separate = (
            found * least / (first * count)
            for found, first in ((rate.cluster, speech[least].cluster), (rate.separate, speech[least].separate))
        )
        report.rows.append([
            str(count),
            str(count * cores_each),
            f"{rate.cluster:.1f}",
            f"{efficiency:.2f}",
            f"{rate.separate:.1f}",
            f"{separate:.2f}",
            "" if count == least else "met" if efficiency >= _BAR else "missed",
        ])  # fmt: skip
    report.notes = [
        f"Each replica has one worker with one thread, and {cores_each} cores, on which there are also a replica of "
        f"the API and {_CLIENTS_EACH} clients. The separate servers are `svc serve` with one worker on {cores_each} "
        "cores each, all at the same time: what they lose, the machine loses, not the cluster. Bar: an efficiency of "
        f"{_BAR}.",
    ]
    if missing:
        report.notes.append(f"This machine has too few cores for {' or '.join(map(str, missing))} replicas.")
    report.figures["speech_a_second"] = {count: asdict(each) for count, each in speech.items()}
    return report
