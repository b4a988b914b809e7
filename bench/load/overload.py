"""A rate that the server holds, then three times that rate: what is refused, and which clients starve or get stuck?"""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from random import Random
from statistics import median
from typing import Any

from bench.load import processes
from bench.load.client import Incomplete, read_figures
from bench.load.listeners import (
    BYTES_A_SECOND,
    KINDS,
    STARVED_OVER,
    STUCK_AFTER,
    Heard,
    OwnStall,
    listen,
    make_texts,
    quantile,
)
from bench.load.options import Options
from bench.report import Report

TITLE = "Overload: a rate that the server holds, and three times that rate"
_TEXTS = 24
_WEIGHTS = (4, 2, 1, 3)  # of the kinds of requests
_HELD_SHARE = 0.5  # of the measured capacity: random arrivals come in bursts
_CAPACITY_SECONDS, _CAPACITY_CLIENTS = 30, 4
_FLAT = 1.05
_TOLERANCE = 0.25, 0.6  # share and seconds by which a stream's length may differ from the clip's


@dataclass
class Phase:
    name: str
    rate: float
    heard: list[Heard] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    """The median of each minute."""
    own_stall: float = 0.0
    stall: float | None = None
    seconds: float = 0.0

    def count_bad(self, lengths: dict[str, float]) -> list[Heard]:
        """Accepted, but not whole."""
        return [each for each in self.heard if each.accepted and not each.stuck and not _is_whole(each, lengths)]

    def refusals(self) -> Counter[str]:
        refused = [each for each in self.heard if not each.accepted and not each.stuck]
        return Counter(
            f"{each.status} {each.reason}{'' if each.retry_after else ', no Retry-After'}" for each in refused
        )

    def unexpected(self) -> list[Heard]:
        """Errors that no overload explains: statuses above 499 but 503, and broken connections."""
        return [
            each
            for each in self.heard
            if not each.stuck and (each.status == 0 or (each.status >= 500 and each.status not in (503,)))
        ]


def measure(options: Options) -> Report:
    minutes = 0.5 if options.quick else options.minutes
    with processes.run(options.engine) as server:
        phases, lengths, capacity = asyncio.run(_run(server, options, minutes))
        tracebacks = server.count_tracebacks()
    return _make_report(phases, lengths, capacity, tracebacks, options)


async def _run(
    server: processes.ServerProcess, options: Options, minutes: float
) -> tuple[list[Phase], dict[str, float], float]:
    rng = Random(options.seed)
    texts = make_texts(rng, _TEXTS)
    lengths = {text: (await listen(server.address, "clip", text)).seconds for text in texts}
    capacity = await _measure_capacity(server.address, texts, 10 if options.quick else _CAPACITY_SECONDS)
    rate = _HELD_SHARE * capacity / (sum(lengths.values()) / len(lengths))
    phases = [
        Phase(f"{_HELD_SHARE:.0%} of its capacity", rate),
        Phase("three times that", 3 * rate),
    ]
    for phase in phases:
        await _run_phase(server, phase, texts, rng, minutes * 60, options.clients)
    return phases, lengths, capacity


async def _measure_capacity(address: str, texts: list[str], seconds: float) -> float:
    """Seconds of audio a second, from clients that ask again as soon as they have their audio."""
    made, began = 0.0, time.monotonic()

    async def ask(client: int) -> None:
        nonlocal made
        number = client
        while time.monotonic() < began + seconds:
            heard = await listen(address, "stream", texts[number % len(texts)])
            made += heard.seconds
            number += _CAPACITY_CLIENTS
            if not heard.accepted:
                await asyncio.sleep(0.2)

    await asyncio.gather(*map(ask, range(_CAPACITY_CLIENTS)))
    return made / (time.monotonic() - began)


async def _run_phase(
    server: processes.ServerProcess, phase: Phase, texts: list[str], rng: Random, seconds: float, clients: int
) -> None:
    """Every client asks at random moments, whether or not earlier requests were answered."""
    began, own_stall = time.monotonic(), OwnStall()
    tasks: list[asyncio.Task[Heard]] = []

    async def behave(rng: Random) -> None:
        while (pause := rng.expovariate(phase.rate / clients)) < began + seconds - time.monotonic():
            await asyncio.sleep(pause)
            kind = rng.choices(KINDS, _WEIGHTS)[0]
            output_format = rng.choice(list(BYTES_A_SECOND))
            tasks.append(asyncio.create_task(listen(server.address, kind, rng.choice(texts), output_format)))

    sampling = asyncio.create_task(_sample_memory(server, phase))
    await asyncio.gather(*(behave(Random(rng.random())) for _ in range(clients)))
    phase.heard = list(await asyncio.gather(*tasks))
    phase.seconds = time.monotonic() - began
    sampling.cancel()
    phase.own_stall = own_stall.stop()
    await _sample_stall(server.address, phase)


async def _sample_memory(server: processes.ServerProcess, phase: Phase) -> None:
    samples: list[float] = []
    while True:
        samples.append(server.resident_megabytes())
        minute = len(samples) // 60
        current = samples[minute * 60 :] or samples[-60:]
        phase.megabytes[minute:] = [median(current)] if current else []
        if len(samples) % 30 == 0:
            await _sample_stall(server.address, phase)
        await asyncio.sleep(1)


async def _sample_stall(address: str, phase: Phase) -> None:
    with suppress(Incomplete, OSError):
        stall = (await read_figures(address)).longest_stall()
        phase.stall = max(stall, phase.stall or 0.0) if stall is not None else phase.stall


def _is_whole(heard: Heard, lengths: dict[str, float]) -> bool:
    share, seconds = _TOLERANCE
    expected = lengths[heard.text]
    return heard.whole and abs(heard.seconds - expected) <= share * expected + seconds


def _make_report(
    phases: list[Phase], lengths: dict[str, float], capacity: float, tracebacks: int, options: Options
) -> Report:
    report = Report("load-overload", TITLE, ["", *(phase.name for phase in phases), "bar"])
    flat = all(len(phase.megabytes) < 3 or phase.megabytes[-1] <= _FLAT * phase.megabytes[1] for phase in phases)

    def add(name: str, cells: list[str], met: bool | None = None) -> None:
        report.rows.append([name, *cells, "" if met is None else "met" if met else "missed"])

    accepted = [[each for each in phase.heard if each.accepted] for phase in phases]
    playing = [[each for each in heard if each.plays and each.first_byte] for heard in accepted]
    starved = [[each for each in heard if each.starved > STARVED_OVER] for heard in playing]
    served = [
        sum(each.seconds for each in heard) / phase.seconds for heard, phase in zip(accepted, phases, strict=True)
    ]
    add("requests a second", [f"{phase.rate:.2f}" for phase in phases])
    add("requests", [str(len(phase.heard)) for phase in phases])
    add(
        "accepted",
        [
            f"{len(heard)} ({len(heard) / max(1, len(phase.heard)):.0%})"
            for heard, phase in zip(accepted, phases, strict=True)
        ],
    )
    add("seconds of audio a second", [f"{each:.1f}" for each in served], served[1] >= 0.9 * served[0])
    add(
        "refused",
        [_join(phase.refusals()) for phase in phases],
        not any("no Retry" in name for phase in phases for name in phase.refusals()),
    )
    add(
        "other errors",
        [_join(Counter(f"{each.status} {each.reason}" for each in phase.unexpected())) for phase in phases],
        not any(phase.unexpected() for phase in phases),
    )
    add(
        f"stuck ({STUCK_AFTER:.0f} s)",
        [str(sum(each.stuck for each in phase.heard)) for phase in phases],
        not any(each.stuck for phase in phases for each in phase.heard),
    )
    add("first byte, median", [f"{quantile([each.first_byte for each in heard], 0.5):.2f} s" for heard in playing])
    add("first byte, 95 %", [f"{quantile([each.first_byte for each in heard], 0.95):.2f} s" for heard in playing])
    add(
        "accepted but not whole",
        [str(len(phase.count_bad(lengths))) for phase in phases],
        not any(phase.count_bad(lengths) for phase in phases),
    )
    add(
        "listeners starved",
        [
            f"{len(few)} of {len(heard)}, {sum(each.starved for each in few):.1f} s"
            for few, heard in zip(starved, playing, strict=True)
        ],
        not any(starved),
    )
    add("memory, each minute", [", ".join(f"{size:.0f}" for size in phase.megabytes) + " MB" for phase in phases], flat)
    add(
        "event loop's longest stall",
        ["not shown" if phase.stall is None else f"{1000 * phase.stall:.0f} ms" for phase in phases],
    )
    add("stall of the clients' process", [f"{1000 * phase.own_stall:.0f} ms" for phase in phases])
    add("tracebacks", ["", str(tracebacks)], not tracebacks)
    report.notes = [
        f"{options.clients} clients with texts of one to three sentences, each at random moments (Poisson), whatever "
        f"became of "
        f"earlier requests: {', '.join(KINDS)} in the ratio {':'.join(map(str, _WEIGHTS))}. Four clients that ask "
        f"again at "
        f"once get {capacity:.1f} seconds of audio a second: that is the capacity. Clients and server share the "
        f"machine.",
        f"A listener plays streams and sockets from the first byte on, and starves with more than "
        f"{1000 * STARVED_OVER:.0f} ms "
        "of silence after it; finer than the stall of the clients' own process it cannot be measured. A response is "
        "whole if its end came, and "
        "its audio is about as long as that of the same text on an idle server. Memory: in each phase, the last minute "
        "within 5 % of the second.",
    ]
    report.figures = {"capacity": capacity, "phases": [_to_json(phase) for phase in phases]}
    return report


def _to_json(phase: Phase) -> dict[str, Any]:
    heard = [asdict(each) | {"text": len(each.text)} for each in phase.heard]
    return {"name": phase.name, "rate": phase.rate, "megabytes": phase.megabytes, "heard": heard}


def _join(counts: Counter[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in counts.most_common()) or "none"
