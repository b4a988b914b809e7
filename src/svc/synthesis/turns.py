"""Who is next: the one whose listener would be the first to hear nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class PlaybackClock(Generic[T]):
    """A listener who hears items as they come: the next is due when those are over."""

    def __init__(self, seconds: Callable[[T], float]) -> None:
        self._seconds = seconds
        self._over = 0.0

    def add(self, item: T) -> None:
        self._over = self.due() + self._seconds(item)

    def due(self) -> float:
        return max(self._over, time.monotonic())


class DeadlineQueue:
    """A lock that goes to the one that is due first; of those that are due at once, to the one that has waited."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    @asynccontextmanager
    async def turn(self, due: float) -> AsyncIterator[None]:
        if self._taken:
            handed_over = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (due, next(self._order), handed_over))
            try:
                await handed_over
            except asyncio.CancelledError:
                if not handed_over.cancelled():
                    self._hand_over()
                raise
        self._taken = True
        try:
            yield
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        self._taken = False
        while self._waiting and not self._taken:
            *_, next_one = heappop(self._waiting)
            if not next_one.done():
                self._taken = True  # already, so that nobody comes in between
                next_one.set_result(None)
