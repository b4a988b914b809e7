"""Clients that hang up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

from svc.errors import ClientDisconnected

T = TypeVar("T")


async def run_unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end; if the client hangs up before that, cancels it and raises `ClientDisconnected`.

    The body of the request must have been read.
    """
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait({working, watching})


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
