"""Background tasks that live as long as a block, and are supervised while they do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
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


class Supervisor:
    """Runs the background tasks of the service, restarts those that fail, and knows how each is doing."""

    @asynccontextmanager
    async def running(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
        """Runs `work` until the block is left. It should not end by itself."""
        async with run_in_background(work()):
            yield
