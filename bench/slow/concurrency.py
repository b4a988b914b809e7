"""Part of bench.slow.turbo: one client, two clients at once, and an idle server."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from rich.progress import track

from bench import sentences, server
from bench.slow import speed

_IDLE_SECONDS = 10.0
_COLUMNS = ("seconds", "work", "later_first_byte")


def measure(rounds: int) -> dict[str, Any]:
    """Medians of two paragraphs in sequence and at once, and the share of a core that an idle server uses."""
    with server.run_server("turbo") as svc, ThreadPoolExecutor(2) as clients:

        def request(_: int = 0) -> float:
            """The seconds until the first byte."""
            return float(speed.stream_text(svc, sentences.PARAGRAPH)["first"])

        def request_two(at_once: bool) -> tuple[float, float, float]:
            """Seconds and CPU seconds of two requests, and seconds until the later first byte."""
            began, cpu = time.perf_counter(), svc.cpu_seconds()
            firsts = list(clients.map(request, range(2))) if at_once else [request(), request()]
            return time.perf_counter() - began, svc.cpu_seconds() - cpu, max(firsts)

        request()
        results = [
            (request_two(at_once=False), request_two(at_once=True)) for _ in track(range(rounds), "one and two clients")
        ]
        time.sleep(1)  # until the last request is cleaned up
        cpu = svc.cpu_seconds()
        time.sleep(_IDLE_SECONDS)
        idle = (svc.cpu_seconds() - cpu) / _IDLE_SECONDS
    in_turn, together = ([median(column) for column in zip(*rows, strict=True)] for rows in zip(*results, strict=True))
    return {
        "one_after_the_other": dict(zip(_COLUMNS, in_turn, strict=True)),
        "at_once": dict(zip(_COLUMNS, together, strict=True)),
        "share_of_a_core_while_idle": idle,
    }
