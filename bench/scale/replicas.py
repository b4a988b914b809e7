"""How much more do two and four replicas of the engine speak than one, behind `svc serve --cluster`?"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.load.processes import ServerProcess, wait_until
from bench.report import Report
from bench.scale import speakers

TITLE = "One, two and four replicas of the engine"
_BAR = 0.9
_STARTS_WITHIN, _STOPS_WITHIN = 600.0, 240.0


def measure(replicas: Sequence[int], threads: int, seconds: float, engine: str = "turbo") -> Report:
    speech: dict[int, float] = {}
    cores = len(os.sched_getaffinity(0))
    for count in [each for each in replicas if each * threads <= cores]:
        with TemporaryDirectory(prefix="svc-scale-") as folder:
            speech[count] = _measure(Path(folder), count, threads, seconds, engine)
    return make_report(speech, threads, cores, missing=[each for each in replicas if each not in speech])


def _measure(folder: Path, count: int, threads: int, seconds: float, engine: str) -> float:
    server = ServerProcess(
        folder,
        engine,
        None,
        workers=1,
        threads=threads,
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
        asyncio.run(speakers.measure_speech(server.address, 4 * count, min(seconds, 10)))  # warms them
        return asyncio.run(speakers.measure_speech(server.address, 4 * count, seconds))
    finally:
        server.terminate()
        server.wait(_STOPS_WITHIN)


def make_report(speech: dict[int, float], threads: int, cores: int, missing: Sequence[int]) -> Report:
    report = Report(
        "scale-replicas", TITLE, ["replicas", "cores they use", "speech a second", "ratio", "efficiency", "bar"]
    )
    least = min(speech, default=1)
    for count, rate in speech.items():
        ratio = rate / speech[least]
        efficiency = ratio * least / count
        met = "met" if efficiency >= _BAR else "missed"
        # On fewer cores than it says, the API and the clients take from the last replica.
        judged = count != least and cores >= 4 and count * threads < cores
        report.rows.append([
            str(count),
            str(count * threads),
            f"{rate:.1f}",
            f"{ratio:.2f}",
            f"{efficiency:.2f}",
            met if judged else "",
        ])  # fmt: skip
    report.notes = [
        f"Each replica has one worker with {threads} threads; there are as many replicas of the API as of the engine, "
        f"and four clients for each. The machine has {cores} cores, which the clients share. Bar: an efficiency of "
        f"{_BAR}, where cores are left for the API and the clients.",
    ]
    if missing:
        report.notes.append(f"This machine has too few cores for {' or '.join(map(str, missing))} replicas.")
    report.figures["speech_a_second"] = speech
    return report
