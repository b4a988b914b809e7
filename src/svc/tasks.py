"""Background tasks that live as long as a block."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
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
