"""The queue before the engine."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count

# Audio that is due within this time is urgent: its own step, and the one that is running, must fit into it.
_URGENT_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class _Waiter:
    key_id: str
    deadline: float
    order: int
    granted: asyncio.Future[None]


class FairQueue:
    """Turns at the engine's workers: urgent work first, by its deadline, otherwise shared fairly between keys.

    If nothing is urgent, the key that used the engine least goes first, and of its work that with the earliest
    deadline. Who is admitted is decided so that urgent work takes only a part of the time (see `svc.admission`).
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers
        self._busy = 0
        self._waiting: list[_Waiter] = []
        self._order = count()
        # Seconds of the engine that each key used, since it or another key came: only the differences count.
        self._used: dict[str, float] = {}
        self._members = Counter[str]()

    @contextmanager
    def join(self, key_id: str) -> Iterator[None]:
        """Takes part in the sharing. A key that was away has no claim to what the others used meanwhile."""
        self._used.setdefault(key_id, min(self._used.values(), default=0.0))
        self._members[key_id] += 1
        try:
            yield
        finally:
            self._members[key_id] -= 1
            if not self._members[key_id]:
                del self._members[key_id], self._used[key_id]

    def charge(self, key_id: str, seconds: float) -> None:
        """Notes that the key used the engine."""
        if key_id in self._used:
            self._used[key_id] += seconds

    @asynccontextmanager
    async def acquire(self, key_id: str, deadline: float) -> AsyncIterator[None]:
        if self._busy < self._workers:
            self._busy += 1
        else:
            waiter = _Waiter(key_id, deadline, next(self._order), asyncio.get_running_loop().create_future())
            self._waiting.append(waiter)
            try:
                await waiter.granted
            except asyncio.CancelledError:
                if not waiter.granted.cancelled():  # the turn was handed over at the same moment
                    self._release()
                raise
        try:
            yield
        finally:
            self._release()

    def resize(self, workers: int) -> None:
        """Turns for more workers, at once; or for fewer, once those that are too many have finished their step."""
        self._workers = workers
        self._grant()

    def _release(self) -> None:
        self._busy -= 1
        self._grant()

    def _grant(self) -> None:
        """Hands turns to those who wait, before anybody who asks now."""
        self._waiting = [waiter for waiter in self._waiting if not waiter.granted.cancelled()]
        while self._waiting and self._busy < self._workers:
            chosen = self._choose()
            self._waiting.remove(chosen)
            self._busy += 1
            chosen.granted.set_result(None)

    def _choose(self) -> _Waiter:
        first = min(self._waiting, key=lambda each: (each.deadline, each.order))
        if first.deadline < time.monotonic() + _URGENT_SECONDS:
            return first
        return min(self._waiting, key=lambda each: (self._used.get(each.key_id, 0.0), each.deadline, each.order))
