"""The open sockets together: how they end, and who has how many of them."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from svc.api.realtime.connections import Connections
from svc.api.realtime.context import Context
from svc.api.realtime.messages import SpeechMessage
from svc.api.realtime.server_messages import SpeechMessages
from svc.api.realtime.session import Session, StreamParameters
from svc.audio import formats

_STEPS = 40  # of the event loop: more than a session takes from its registration to its end


class _Client:
    """A socket whose client hangs up after so many steps, or stays."""

    def __init__(self, steps: int | None) -> None:
        self._steps = steps
        self.closed: int | None = None

    async def receive(self) -> dict[str, Any]:
        if self._steps is None:
            await asyncio.Event().wait()
        for _ in range(self._steps or 0):
            await asyncio.sleep(0)
        return {"type": "websocket.disconnect", "code": 1000}

    async def close(self, code: int, reason: str) -> None:
        self.closed = code


class _Session(Session[SpeechMessage]):
    message_type = SpeechMessage
    messages = SpeechMessages

    async def _handle(self, message: SpeechMessage) -> None:
        raise AssertionError("nobody sends a message")

    def _end_context(self, context: Context[str]) -> None:
        raise AssertionError("nobody speaks")


def _open(client: _Client) -> _Session:
    dependencies: Any = SimpleNamespace(verifier=SimpleNamespace(open=True))
    socket: Any = client
    return _Session(socket, dependencies, StreamParameters(formats.find("pcm_24000"), None, None, 20, False, False))


@pytest.mark.parametrize("ending", ["drain", "evict"])
def test_no_moment_of_a_session_breaks_the_end_of_another(ending: str) -> None:
    """Sockets are drained at every step between the registration of one and its end."""

    async def serve(connections: Connections, session: _Session, wait: int) -> None:
        with connections.register(session):
            for _ in range(wait):
                await asyncio.sleep(0)
            await session.run(None)
            for _ in range(wait):
                await asyncio.sleep(0)

    async def end_at(step: int) -> None:
        connections = Connections(100)
        client, other = _Client(steps=3), _Client(steps=None)
        early = asyncio.create_task(serve(connections, _open(client), wait=2))
        session = _open(other)
        late = asyncio.create_task(serve(connections, session, wait=0))
        for _ in range(step):
            await asyncio.sleep(0)
        for each in tuple(connections._connected):
            getattr(each, ending)()
        session.drain()
        async with asyncio.timeout(60):
            await asyncio.gather(early, late)
        assert other.closed in (1012, 1013)
        assert len(connections) == 0

    async def main() -> None:
        for step in range(_STEPS):
            await end_at(step)

    asyncio.run(main())


def test_a_socket_that_cannot_be_drained_does_not_keep_the_others(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        is_silent = False

        def drain(self) -> None:
            raise RuntimeError("broken")

        def evict(self) -> None:
            raise AssertionError

    class Good(Broken):
        drained = False

        def drain(self) -> None:
            self.drained = True

    connections, good = Connections(100), Good()
    with connections.register(Broken()), connections.register(good), caplog.at_level(logging.ERROR):
        connections.drain()
    assert good.drained
    assert "could not be drained" in caplog.text
