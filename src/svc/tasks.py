"""Background tasks that live as long as a block, and are supervised while they do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any


@asynccontextmanager
async def run_in_background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs the coroutines until the block is left, then cancels them."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@dataclass(slots=True)
class TaskState:
    running: bool = True
    failures: int = 0


class Supervisor:
    """Runs the background tasks of the service, restarts those that fail, and knows how each is doing."""

    def __init__(self) -> None:
        self._states: dict[str, TaskState] = {}

    def states(self) -> dict[str, TaskState]:
        return dict(self._states)

    @asynccontextmanager
    async def running(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
        """Runs `work` until the block is left. It should not end by itself."""
        self._states[name] = TaskState()
        async with run_in_background(work()):
            yield
