"""When a client hangs up, the work for it has ended before anything else is told so."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from fastapi import Request

from svc.api.speech.disconnect import run_unless_disconnected
from svc.errors import ClientDisconnected


def _request(*messages: str) -> Request:
    """A client that sends these messages, and then nothing."""
    left = list(messages)

    async def receive() -> dict[str, str]:
        if not left:
            await asyncio.Event().wait()
        return {"type": left.pop(0)}

    return cast(Request, SimpleNamespace(receive=receive))


def test_cancelled_work_is_waited_for() -> None:
    async def main() -> list[str]:
        log = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)  # a place is given back, an engine is let go
                log.append("cleaned up")

        with pytest.raises(ClientDisconnected):
            await run_unless_disconnected(_request("http.request", "http.disconnect"), work())
        return log

    assert asyncio.run(main()) == ["cleaned up"]


def test_finished_work_returns_and_leaves_no_task_behind() -> None:
    async def main() -> None:
        async def work() -> str:
            return "done"

        assert await run_unless_disconnected(_request(), work()) == "done"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_failed_work_raises_what_it_raised() -> None:
    async def main() -> None:
        async def work() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await run_unless_disconnected(_request(), work())

    asyncio.run(main())
