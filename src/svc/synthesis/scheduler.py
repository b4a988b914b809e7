"""Shares the engine between streams: one worker thread, one step at a time, earliest deadline first.

A stream's deadline is the moment at which its listener has heard all audio that was made so far. So a short text is
never stuck behind a long one, and a stream whose listener has seconds of audio left waits for one whose has none.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from svc.errors import Busy, EngineUnavailable, ModelLoading, SvcError
from svc.synthesis.request import AudioPart
from svc.tracing import span

T = TypeVar("T")

_END: Any = object()


class PlaybackClock(Generic[T]):
    """When the next item of a stream is due: as soon as the listener has heard those before it."""

    def __init__(self, seconds_of: Callable[[T], float]) -> None:
        self._seconds_of = seconds_of
        self._end = 0.0

    def add(self, item: T) -> None:
        self._end = self.deadline() + self._seconds_of(item)

    def deadline(self) -> float:
        return max(self._end, time.monotonic())


def audio_clock() -> PlaybackClock[AudioPart]:
    """The clock of somebody who plays the parts of a stream as they come."""
    return PlaybackClock(lambda part: part.seconds)


class DeadlineQueue:
    """A lock that goes to the waiter with the earliest deadline; of equal ones, to the first that came."""

    def __init__(self) -> None:
        self._locked = False
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    @asynccontextmanager
    async def acquire(self, deadline: float) -> AsyncIterator[None]:
        if self._locked:
            granted = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (deadline, next(self._order), granted))
            try:
                await granted
            except asyncio.CancelledError:
                if not granted.cancelled():
                    self._release()
                raise
        self._locked = True
        try:
            yield
        finally:
            self._release()

    def _release(self) -> None:
        self._locked = False
        while self._waiting and not self._locked:
            *_, granted = heappop(self._waiting)
            if not granted.done():
                self._locked = True  # before the waiter runs, so that nobody comes in between
                granted.set_result(None)


class Scheduler:
    """Runs the steps of generators in one worker thread, off the event loop."""

    def __init__(self, load: Callable[[], None], max_streams: int) -> None:
        self._load = load
        self._max_streams = max_streams
        self._queue = DeadlineQueue()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._loading: asyncio.Future[None] | None = None
        self._active = 0  # streams, counted or not, that want the engine now
        self._idle = asyncio.Event()
        self._idle.set()
        self.streams = 0

    def start(self) -> None:
        """Begins to load the engine; returns at once."""
        self._loading = asyncio.get_running_loop().run_in_executor(self._worker, self._load)

    async def close(self) -> None:
        """Waits for the step that is running, and takes no more."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)

    def require_ready(self) -> None:
        """Raises unless the engine is loaded."""
        if self._loading is None or not self._loading.done():
            raise ModelLoading
        if error := self._loading.exception():
            raise (error if isinstance(error, SvcError) else EngineUnavailable(f"The engine did not start: {error}"))

    async def stream(self, work: Generator[T], clock: PlaybackClock[T] | None = None) -> AsyncGenerator[T]:
        """Like `run`, as one of at most `max_streams` at once."""
        self.require_ready()
        if self.streams >= self._max_streams:
            raise Busy(self._max_streams)
        self.streams += 1
        try:
            async with aclosing(self.run(work, clock)) as items:
                async for item in items:
                    yield item
        finally:
            self.streams -= 1

    async def run(self, work: Generator[T], clock: PlaybackClock[T] | None = None) -> AsyncGenerator[T]:
        """The items of `work`, one step of the engine each; closing this stops the work within a step.

        Without a clock every item is due at once.
        """
        self._active += 1
        self._idle.clear()
        try:
            with span("synthesis"):
                while True:
                    async with self._queue.acquire(clock.deadline() if clock else time.monotonic()):
                        item = await self._step(work)
                    if item is _END:
                        return
                    if clock:
                        clock.add(item)
                    yield item
        finally:
            self._active -= 1
            if not self._active:
                self._idle.set()
            self._stop(work)

    async def run_when_idle(self, work: Generator[T]) -> AsyncGenerator[T]:
        """The items of `work`, each made only while no stream wants the engine."""
        try:
            while True:
                await self._idle.wait()
                async with self._queue.acquire(math.inf):
                    if not self._idle.is_set():  # a stream came while this waited for the lock
                        continue
                    item = await self._step(work)
                if item is _END:
                    return
                yield item
        finally:
            self._stop(work)

    async def _step(self, work: Generator[T]) -> T:
        """The next item, or `_END`."""
        item: T = await asyncio.get_running_loop().run_in_executor(self._worker, next, work, _END)
        return item

    def _stop(self, work: Generator[T]) -> None:
        # In the worker, because an abandoned step may still be running there.
        self._worker.submit(work.close)
