"""What machines hold: the tables of docs/capacity.md, from measured machines and the simulation of their queues."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.load.listeners import make_texts, quantile
from bench.report import Report
from bench.scale.simulation import STARVED_OVER, Machine, Outcome, Text, simulate

MEASURED = Path(__file__).with_name("measured_overload.json")

TWO_CORES = Machine("2 ARM cores (Neoverse N1)", workers=1, speech_a_second=23.4)
"""`load-overload` of 2026-11-17: its speech a second at a rate beyond its capacity, in three formats."""

TARGETS = (0.1, 0.2, 0.5, 1.0)
MACHINES = (1, 2, 4, 8, 16)
CHARACTERS = (10_000, 100_000, 1_000_000)
CHARACTERS_A_SECOND = 14.7  # of speech, in the same benchmark
_MAX_REFUSED = 0.01
_PRECISION = 0.05
_MOST = 0.9  # of what a machine can speak: with more, queues grow longer than a simulation lasts
_TEXTS = 24


@dataclass(frozen=True, slots=True)
class Point:
    """What happened at a rate of texts a second."""

    accepted: float
    speech_a_second: float
    median: float
    """Of the first bytes of live texts, in seconds."""
    late: float
    """The first byte that 95 % were not later than."""
    starved: int


def measure_points(file: Path = MEASURED) -> Iterator[tuple[str, float, list[Text], Point]]:
    """Each phase of the load benchmark: its name, its texts a second, its texts, and what was measured."""
    for phase in json.loads(file.read_text())["phases"]:
        heard = phase["heard"]
        accepted = [each for each in heard if each["status"] == 200]
        live = [each for each in accepted if each["kind"] in ("stream", "socket")]
        texts = [Text(each["seconds"], each in live) for each in accepted]
        seconds = len(heard) / phase["rate"]
        first_bytes = [each["first_byte"] for each in live]
        yield phase["name"], phase["rate"], texts, Point(
            len(accepted) / len(heard),
            sum(text.seconds for text in texts) / seconds,
            quantile(first_bytes, 0.5),
            quantile(first_bytes, 0.95),
            sum(each["starved"] > STARVED_OVER for each in live),
        )  # fmt: skip


def simulate_point(machines: Sequence[Machine], texts: Sequence[Text], rate: float, seconds: float) -> Point:
    return _summarize(simulate(machines, texts, rate, seconds), seconds)


def _summarize(outcomes: Sequence[Outcome], seconds: float) -> Point:
    accepted = [each for each in outcomes if not each.refused]
    first_bytes = [each.first_byte for each in accepted if each.text.live]
    return Point(
        len(accepted) / len(outcomes),
        sum(each.text.seconds for each in accepted) / seconds,
        quantile(first_bytes, 0.5),
        quantile(first_bytes, 0.95),
        sum(each.starved > STARVED_OVER for each in accepted),
    )


def find_rate(machine: Machine, count: int, target: float, seconds: float = 600.0) -> tuple[float, Point]:
    """The most texts a second that so many machines hold: 95 % of the first bytes within the target, none starved, at
    most one of a hundred refused. To within 5 %."""
    texts = make_live_texts()
    mean = sum(text.seconds for text in texts) / len(texts)
    low, high = 0.0, _MOST * count * machine.speech_a_second / mean
    best = Point(1.0, 0.0, 0.0, 0.0, 0)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        point = simulate_point([machine] * count, texts, middle, seconds)
        if point.late <= target and not point.starved and point.accepted >= 1 - _MAX_REFUSED:
            low, best = middle, point
        else:
            high = middle
    return low, best


def make_live_texts() -> list[Text]:
    """The texts of the load benchmark."""
    return [Text(len(text) / CHARACTERS_A_SECOND) for text in make_texts(Random(1), _TEXTS)]


def compare() -> Report:
    report = Report(
        "scale-simulation",
        "The simulation beside what was measured",
        ["", "", "accepted", "speech a second", "first byte, median", "95 %", "starved"],
    )
    for name, rate, texts, measured in measure_points():
        simulated = simulate_point([TWO_CORES], texts, rate, 1200.0)
        for what, point in (("measured", measured), ("simulated", simulated)):
            cells = [f"{point.accepted:.0%}", f"{point.speech_a_second:.1f} s"]
            cells += [f"{point.median:.2f} s", f"{point.late:.2f} s", str(point.starved)]
            report.rows.append([name, what, *cells])
    return report


def make_table(machine: Machine = TWO_CORES) -> Report:
    report = Report(
        "scale-one-machine",
        f"One machine: {machine.name}",
        ["first byte, 95 %", "texts a second", "characters a second", "seconds of speech a second", "of its capacity"],
    )
    for target in TARGETS:
        _, point = find_rate(machine, 1, target)
        report.rows.append([f"within {target:g} s", *_describe(point, machine, 1)])
    return report


def _describe(point: Point, machine: Machine, count: int) -> list[str]:
    mean = sum(text.seconds for text in make_live_texts()) / _TEXTS
    speech = point.speech_a_second
    share = speech / machine.speech_a_second / count
    return [f"{speech / mean:.1f}", f"{speech * CHARACTERS_A_SECOND:.0f}", f"{speech:.1f}", f"{share:.0%}"]


def make_machines_table(machine: Machine = TWO_CORES, target: float = 1.0) -> Report:
    report = Report(
        "scale-machines",
        f"Several machines behind a balancer, 95 % of the first bytes within {target:g} s",
        ["machines", "characters a second", "of each machine's capacity", "checked"],
    )
    each = 0.0
    for count in MACHINES:
        _, point = find_rate(machine, count, target)
        each = point.speech_a_second * CHARACTERS_A_SECOND / count
        report.rows.append([f"{count}", f"{each * count:,.0f}", _describe(point, machine, count)[-1], "simulated"])
    for characters in CHARACTERS:
        needed = characters / each
        step = 10 ** max(0, int(math.log10(needed)) - 1)  # two digits are all that is known
        report.rows.append(
            [
                f"{step * math.ceil(needed / step):,}",
                f"{characters:,}",
                report.rows[len(MACHINES) - 1][2],
                "extrapolated",
            ]
        )
    return report


def make_reports() -> list[Report]:
    return [compare(), make_table(), make_machines_table()]
