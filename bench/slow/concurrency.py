"""A server with one client and with two at once, and with none: who waits for whom, and what an idle server does."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from rich.progress import track

from bench import server, speed

_IDLE_SECONDS = 10.0
_COLUMNS = ("seconds", "work", "later_first_byte")


def measure(rounds: int) -> dict[str, Any]:
    """Medians for two paragraphs, one after the other and at once; and the share of a core that is used while idle."""
    with server.running("turbo") as svc, ThreadPoolExecutor(2) as clients:

        def ask(_: int = 0) -> float:
            """The seconds until the first byte."""
            return float(speed.streamed(svc, speed.PARAGRAPH)["first"])

        def both(at_once: bool) -> tuple[float, float, float]:
            """The seconds that two answers take, those of all cores, and those until the later of the first bytes."""
            began, worked = time.perf_counter(), svc.worked_seconds()
            firsts = list(clients.map(ask, range(2))) if at_once else [ask(), ask()]
            return time.perf_counter() - began, svc.worked_seconds() - worked, max(firsts)

        ask()
        taken = [(both(at_once=False), both(at_once=True)) for _ in track(range(rounds), "one and two clients")]
        time.sleep(1)  # until the last answer is cleared away
        worked = svc.worked_seconds()
        time.sleep(_IDLE_SECONDS)
        idle = (svc.worked_seconds() - worked) / _IDLE_SECONDS
    in_turn, together = ([median(column) for column in zip(*rows, strict=True)] for rows in zip(*taken, strict=True))
    return {
        "one_after_the_other": dict(zip(_COLUMNS, in_turn, strict=True)),
        "at_once": dict(zip(_COLUMNS, together, strict=True)),
        "share_of_a_core_while_idle": idle,
    }
