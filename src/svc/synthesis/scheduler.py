"""Fair turns on the engine: many streams of work, one worker, a step of each at a time."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

from svc.errors import Busy, EngineUnavailable, ModelLoading, SvcError
from svc.synthesis.turns import DeadlineQueue, PlaybackClock

T = TypeVar("T")

_END: Any = object()


class Scheduler:
    """Runs the steps of generators in one thread, off the event loop.

    A stream asks for its next step only when it has the one before, and the thread takes the step that is due first.
    So streams take turns, a short text is never stuck behind a long one, and who has sound enough to listen to waits
    for those who have none.
    """

    def __init__(self, load: Callable[[], None], max_streams: int) -> None:
        self._load = load
        self._max_streams = max_streams
        self._turns = DeadlineQueue()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._loading: asyncio.Future[None] | None = None
        self._wanted = 0  # by how many the engine is wanted now
        self._spare = asyncio.Event()
        self._spare.set()
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

    async def stream(self, work: Generator[T], playback: PlaybackClock[T] | None = None) -> AsyncGenerator[T]:
        """The items of `work`, if there is a place for one more stream."""
        self.require_ready()
        if self.streams >= self._max_streams:
            raise Busy(self._max_streams)
        self.streams += 1
        try:
            async with aclosing(self.run(work, playback)) as items:
                async for item in items:
                    yield item
        finally:
            self.streams -= 1

    async def run(self, work: Generator[T], playback: PlaybackClock[T] | None = None) -> AsyncGenerator[T]:
        """The items of `work`, each made in a turn of its own; closing this stops the work within a step.

        Without a `playback` each item is wanted at once.
        """
        self._wanted += 1
        self._spare.clear()
        try:
            while True:
                async with self._turns.turn(playback.due() if playback else time.monotonic()):
                    item = await self._step(work)
                if item is _END:
                    return
                if playback:
                    playback.add(item)
                yield item
        finally:
            self._wanted -= 1
            if not self._wanted:
                self._spare.set()
            self._stop(work)

    async def run_when_idle(self, work: Generator[T]) -> AsyncGenerator[T]:
        """The same for what can wait for ever: each turn is taken only while nobody else is speaking."""
        try:
            while True:
                await self._spare.wait()
                async with self._turns.turn(math.inf):
                    if not self._spare.is_set():  # somebody came while it was waiting for the turn
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
