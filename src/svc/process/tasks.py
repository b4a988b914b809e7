"""Background tasks that live as long as a block, and are supervised while they do."""

import asyncio
import logging
import random
import re
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

log = logging.getLogger(__name__)

_CANCEL_SECONDS = 1.0  # until a task that was cancelled is cancelled again

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_WELL_SECONDS = 60.0  # a task that ran for so long has recovered

_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]*@")
_QUERY = re.compile(r"\?[^\s\"')>]*")


@asynccontextmanager
async def run_in_background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs the coroutines until the block is left, then cancels them."""
    tasks = {asyncio.create_task(each) for each in work}
    try:
        yield
    finally:
        while tasks:  # a cancellation can be lost: clients of databases take one that comes with a timeout for that
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)


@dataclass(frozen=True, slots=True)
class TaskState:
    """How a background task is doing."""

    state: Literal["running", "restarting"]
    """`restarting`: it failed, and is started again after a pause."""
    since: float
    """When it came into this state, in Unix seconds."""
    failures: int
    """In a row: zero once it works again."""
    failures_total: int
    error_type: str | None
    """Of the last of the failures in a row, with its message; None once it works again."""
    error: str | None


class TaskReturned(Exception):
    """A task that should run for ever has ended by itself."""


class Supervisor:
    """Runs the background tasks of the service, restarts those that fail, and knows how each is doing."""

    def __init__(self, *, first_pause: float = FIRST_PAUSE, longest_pause: float = LONGEST_PAUSE) -> None:
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._tasks: dict[str, _Task] = {}

    def states(self) -> dict[str, TaskState]:
        """The state of each task that runs at the moment, by its name."""
        return {name: task.state for name, task in self._tasks.items()}

    @asynccontextmanager
    async def running(
        self,
        name: str,
        work: Callable[[], Awaitable[None]],
        *,
        expected: tuple[type[Exception], ...] = (),
    ) -> AsyncIterator[None]:
        """Runs `work` until the block is left, and again whenever it fails or returns.

        Failures of an `expected` type, such as a database that is down, are logged without a traceback.
        """

        async def run(task: _Task) -> None:
            recovery = asyncio.get_running_loop().call_later(_WELL_SECONDS, task.note_well)
            try:
                await work()
            finally:
                recovery.cancel()
            raise TaskReturned("it ended by itself")

        async with self._supervise(name, run, expected):
            yield

    @asynccontextmanager
    async def repeating(
        self,
        name: str,
        work: Callable[[], Awaitable[None]],
        seconds: float,
        *,
        expected: tuple[type[Exception], ...] = (),
    ) -> AsyncIterator[None]:
        """Calls `work` every so many seconds until the block is left; a call that returns has gone well."""

        async def run(task: _Task) -> None:
            while True:
                await work()
                task.note_well()
                await asyncio.sleep(seconds)

        async with self._supervise(name, run, expected):
            yield

    @asynccontextmanager
    async def _supervise(
        self, name: str, run: "Callable[[_Task], Awaitable[None]]", expected: tuple[type[Exception], ...]
    ) -> AsyncIterator[None]:
        if name in self._tasks:
            raise ValueError(f"a task with the name {name} is running already")
        task = self._tasks[name] = _Task(name, expected)
        try:
            async with run_in_background(self._restart(task, run)):
                yield
        finally:
            del self._tasks[name]

    async def _restart(self, task: "_Task", run: "Callable[[_Task], Awaitable[None]]") -> None:
        while True:
            try:
                await run(task)
            except asyncio.CancelledError as error:
                # Unless it is this task that was cancelled, something that it waited for was.
                if (current := asyncio.current_task()) is None or current.cancelling():
                    raise
                task.note_failure(error)
            except Exception as error:
                task.note_failure(error)
            pause = min(self._first_pause * 2.0 ** (min(task.state.failures, 32) - 1), self._longest_pause)
            # Randomised, so that servers that lost the same database do not come back in step.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            task.note_restart()


class _Task:
    """What is known of one task; changes are logged."""

    def __init__(self, name: str, expected: tuple[type[Exception], ...]) -> None:
        self._name = name
        self._expected = expected
        self._logged: object = None
        self.state = TaskState("running", time.time(), 0, 0, None, None)

    def note_failure(self, error: BaseException) -> None:
        known, kind, message = self.state, type(error).__name__, describe_error(error)
        origin = kind, _find_origin(error)  # not the message, which may tell a time or an address
        with_traceback = origin != self._logged and not isinstance(error, (*self._expected, TaskReturned))
        self._logged = origin
        self.state = TaskState("restarting", time.time(), known.failures + 1, known.failures_total + 1, kind, message)
        log.log(
            logging.WARNING if isinstance(error, self._expected) else logging.ERROR,
            "the background task %s failed and is restarted: %s: %s",
            *(self._name, kind, message),
            exc_info=error if with_traceback else None,
        )

    def note_restart(self) -> None:
        self.state = replace(self.state, state="running", since=time.time())

    def note_well(self) -> None:
        if self.state.failures:
            log.info("the background task %s works again after %d failures", self._name, self.state.failures)
            self.state = replace(self.state, failures=0, error_type=None, error=None)
            self._logged = None


def _find_origin(error: BaseException) -> tuple[str, int] | None:
    """The file and the line where it was raised."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return (frames[-1][0].f_code.co_filename, frames[-1][1]) if frames else None


def describe_error(error: BaseException) -> str:
    """The message of an error on one short line, without what a URL in it may keep secret."""
    # A public message may say less than the log should: `reason` is what our own errors say to operators.
    message = " ".join(str(getattr(error, "reason", "") or error).split())
    return _QUERY.sub("", _CREDENTIALS.sub("", message))[:200]
