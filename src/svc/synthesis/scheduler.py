"""Shares the engine between texts: worker threads, each with one step at a time, in the order of a fair queue.

The deadline of a text is the moment at which its listener has heard all audio that was made so far. So a short text is
never stuck behind a long one, and a listener who has seconds of audio left waits for one who has none.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar

from svc.errors import EngineUnavailable, ModelLoading, SvcError
from svc.observability.metrics import Metrics
from svc.observability.tracing import span
from svc.synthesis.fair_queue import FairQueue
from svc.synthesis.playback import Playback, current_playback


class TimedAudio(Protocol):
    """Audio that knows how long it is."""

    @property
    def seconds(self) -> float: ...


T = TypeVar("T")
A = TypeVar("A", bound=TimedAudio)

_END: Any = object()

# Work in the background waits for texts whose next audio is due within so many seconds.
_BACKGROUND_SECONDS = 2.0
_BACKGROUND_KEY = ""


class Scheduler:
    """Runs the steps of generators in worker threads, off the event loop."""

    def __init__(
        self,
        load: Callable[[], None],
        metrics: Metrics | None = None,
        workers: int = 1,
        max_workers: int | None = None,
        turns: int = 1,
    ) -> None:
        """`max_workers` is the most that `resize` will use; by default there is nothing to resize.

        Every worker has so many `turns` at a time: several, if it is elsewhere, so that it has the next step while the
        audio of the last one is on its way.
        """
        self._load = load
        self._metrics = metrics or Metrics()
        self._workers = workers
        self._max_workers = max_workers or workers
        self._turns = turns
        self._queue = FairQueue(turns * workers)
        self._threads = ThreadPoolExecutor(turns * self._max_workers, thread_name_prefix="engine")
        self._loading: asyncio.Future[None] | None = None
        self._active = 0  # texts and background work that want the engine now
        self._idle = asyncio.Event()
        self._idle.set()
        self.speed = EngineSpeed(workers)
        self.starved_seconds = 0.0
        """For how long listeners have waited for audio in the middle of texts, since the start."""

    def start(self) -> None:
        """Begins to load the engine; returns at once."""
        self._loading = asyncio.get_running_loop().run_in_executor(self._threads, self._load)

    async def close(self) -> None:
        """Waits for the steps that are running, and takes no more."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    def require_ready(self) -> None:
        """Raises unless the engine is loaded."""
        if self._loading is None or not self._loading.done():
            raise ModelLoading
        if not self._workers:
            raise EngineUnavailable("No replica of the engine is running. Try again in a few seconds.")
        if error := self._loading.exception():
            raise (error if isinstance(error, SvcError) else EngineUnavailable(f"The engine did not start: {error}"))

    async def wait_until_loaded(self) -> None:
        """Raises what `require_ready` would, if the engine cannot be loaded."""
        assert self._loading is not None
        await asyncio.wait([self._loading])
        self.require_ready()

    def resize(self, workers: int) -> None:
        """So many steps at a time from now on. With none, texts that have begun may still be finished."""
        self._workers = min(workers, self._max_workers)
        self.speed.workers = max(self._workers, 1)
        self._queue.resize(self._turns * self.speed.workers)

    async def run(self, work: Generator[A], playback: Playback) -> AsyncGenerator[A]:
        """The audio of a text, one step of the engine each; closing this stops the work within a step.

        While others use the engine too, the first parts come together, so that the listener has enough to hear until
        the next one is made.
        """
        held_back: list[A] = []
        steps = _Steps(work, self._threads, playback)
        self._begin()
        try:
            with span("synthesis"), self._queue.join(playback.key_id):
                ended = False
                while not ended:
                    asked_at = time.monotonic()
                    part = await self._make_part(steps, playback)
                    if part is None:
                        ended = True
                    else:
                        held_back.append(part)
                    if ended or self._may_play(held_back, playback):
                        made_seconds = sum(each.seconds for each in held_back)
                        starved_seconds = playback.add(made_seconds, asked_at)
                        self.starved_seconds += starved_seconds
                        self._metrics.starved_seconds.inc(starved_seconds)
                        for each in held_back:
                            yield each
                        held_back.clear()
        finally:
            self._end()
            steps.close()

    async def _make_part(self, steps: "_Steps[A]", playback: Playback) -> A | None:
        """Waits for the engine and makes the next part; None at the end."""
        async with self._queue.acquire(playback.key_id, playback.deadline()):
            part, seconds = await steps.next()
            self._queue.charge(playback.key_id, seconds)
        if part is _END:
            return None
        start_seconds = steps.find_start_seconds(seconds, part.seconds)
        if start_seconds is not None and not playback.started:
            self.speed.observe_start(start_seconds)
        self.speed.observe(seconds, part.seconds)
        self._metrics.real_time_factor.set(self.speed.real_time_factor)
        self._metrics.audio_seconds.inc(part.seconds)
        return part

    def _may_play(self, parts: list[A], playback: Playback) -> bool:
        """Whether the listener has enough to wait for two steps: one of another text, and the next of this one."""
        no_others = self._active <= self.speed.workers
        if no_others or playback.started or not playback.live:
            return True
        return sum(part.seconds for part in parts) >= 2 * self.speed.longest_step_seconds

    async def run_in_background(self, work: Generator[T]) -> AsyncGenerator[T]:
        """The items of `work`, which nobody listens to yet: texts whose audio is due go first."""
        steps = _Steps(work, self._threads)
        self._begin()
        try:
            with self._queue.join(_BACKGROUND_KEY):
                while True:
                    async with self._queue.acquire(_BACKGROUND_KEY, time.monotonic() + _BACKGROUND_SECONDS):
                        item, seconds = await steps.next()
                        self._queue.charge(_BACKGROUND_KEY, seconds)
                    if item is _END:
                        return
                    yield item
        finally:
            self._end()
            steps.close()

    async def run_when_idle(self, work: Generator[T]) -> AsyncGenerator[T]:
        """The items of `work`, each made only while nothing else wants the engine."""
        steps = _Steps(work, self._threads)
        try:
            while True:
                await self._idle.wait()
                async with self._queue.acquire(_BACKGROUND_KEY, math.inf):
                    if not self._idle.is_set():  # a text came while this waited for the lock
                        continue
                    item, _ = await steps.next()
                if item is _END:
                    return
                yield item
        finally:
            steps.close()

    async def wait_until_idle(self) -> None:
        """For work in the background that does not use the engine, but the same processors."""
        await self._idle.wait()

    def _begin(self) -> None:
        self._active += 1
        self._idle.clear()

    def _end(self) -> None:
        self._active -= 1
        if not self._active:
            self._idle.set()


class _Steps(Generic[T]):
    """The steps of a generator, one at a time, each in any of the threads."""

    def __init__(self, work: Generator[T], threads: ThreadPoolExecutor, playback: Playback | None = None) -> None:
        self._work = work
        self._threads = threads
        self._playback = playback
        self._running: Future[tuple[T, float]] | None = None
        self._silent_seconds: float | None = 0.0  # of work before the first audio; None once there is some

    async def next(self) -> tuple[T, float]:
        """The next item, or `_END`, and how many seconds it took the engine."""
        self._running = self._threads.submit(self._step)
        return await asyncio.wrap_future(self._running)

    def find_start_seconds(self, seconds: float, audio_seconds: float) -> float | None:
        """What the first audio took, with the steps before it that only read; None for all other steps."""
        if self._silent_seconds is None:
            return None
        total = self._silent_seconds + seconds
        self._silent_seconds = None if audio_seconds else total
        return total if audio_seconds else None

    def _step(self) -> tuple[T, float]:
        current_playback.set(self._playback)
        started = time.perf_counter()
        item = next(self._work, _END)
        seconds = time.perf_counter() - started
        elsewhere = self._playback.take_worked_seconds() if self._playback else None
        return item, seconds if elsewhere is None else elsewhere

    def close(self) -> None:
        """Ends the generator, after the step that may still be running although nobody waits for it any more."""
        if self._running is None or self._running.done():
            self._threads.submit(self._work.close)
        else:
            self._running.add_done_callback(lambda _: self._work.close())


class EngineSpeed:
    """How fast a worker has been lately: means in which older audio counts less and less."""

    _MEMORY_SECONDS = 30.0  # of audio
    _MEMORY_STARTS = 10

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        # Until something was measured: guesses, which a few seconds of audio replace.
        self._work_seconds, self._audio_seconds = 0.5, 5.0
        self.start_seconds = 0.1
        """What the first audio of a text takes: more than the real-time factor tells, because it begins a sentence."""
        self.longest_step_seconds = 0.0
        """What nearly the longest step took: for so long, nobody else gets the engine."""

    @property
    def real_time_factor(self) -> float:
        """How many seconds a worker takes for a second of audio."""
        return self._work_seconds / self._audio_seconds

    def observe(self, work_seconds: float, audio_seconds: float) -> None:
        kept = math.exp(-audio_seconds / self._MEMORY_SECONDS)
        self._work_seconds = self._work_seconds * kept + work_seconds
        self._audio_seconds = self._audio_seconds * kept + audio_seconds
        self.longest_step_seconds = max(work_seconds, self.longest_step_seconds * kept)

    def observe_start(self, work_seconds: float) -> None:
        self.start_seconds += (work_seconds - self.start_seconds) / self._MEMORY_STARTS
