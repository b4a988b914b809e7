"""How long the event loop is busy or late, while other requests wait for it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_INTERVAL = 0.1  # seconds from one observation to the next: cheap, for the turns are all timed
_WINDOW = 60.0  # seconds


class EventLoopMonitor:
    """Observes the longest stall of each short interval.

    Two things are measured. The time of each turn of the loop, between two waits for events, misses no callback however
    short the pauses between them are. And a timer that comes late tells of what the turns cannot: that other threads
    or processes kept the loop from running at all.
    """

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._longest = 0.0  # since the last observation
        self._recent: deque[tuple[float, float]] = deque()  # when and how long, longest first

    def longest(self) -> float:
        """The longest stall of the last minute, in seconds."""
        oldest = time.perf_counter() - _WINDOW
        return max((stall for when, stall in tuple(self._recent) if when >= oldest), default=0.0)

    async def run(self) -> None:
        with self._time_turns():
            due = time.perf_counter()
            while True:
                due += _INTERVAL
                await asyncio.sleep(due - time.perf_counter())
                now = time.perf_counter()
                self._record(now, max(self._longest, now - due))
                self._longest = 0.0
                due = now

    def _record(self, now: float, stall: float) -> None:
        self._observe(stall)
        while self._recent and self._recent[-1][1] <= stall:
            self._recent.pop()
        self._recent.append((now, stall))
        while self._recent[0][0] < now - _WINDOW:
            self._recent.popleft()

    @contextmanager
    def _time_turns(self) -> Iterator[None]:
        """Notes the time from each return of the selector to its next call.

        asyncio has no hook for that, so the selector's own method is wrapped. Loops without a selector, such as uvloop,
        are observed by the timer alone.
        """
        selector: Any = getattr(asyncio.get_running_loop(), "_selector", None)
        if selector is None:
            yield
            return
        select = selector.select
        clock = time.perf_counter
        returned = clock()

        def timed_select(timeout: float | None = None) -> Any:
            nonlocal returned
            turn = clock() - returned
            if turn > self._longest:
                self._longest = turn
            try:
                return select(timeout)
            finally:
                returned = clock()

        selector.select = timed_select
        try:
            yield
        finally:
            selector.select = select
