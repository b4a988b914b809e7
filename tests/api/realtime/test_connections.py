"""The open sockets together: how they end, and who has how many of them."""

import asyncio
import logging
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from svc.api.realtime.connections import Connections
from svc.api.realtime.context import Context
from svc.api.realtime.messages import SpeechMessage
from svc.api.realtime.server_messages import SpeechMessages
from svc.api.realtime.session import Session, StreamParameters
from svc.audio import formats
from svc.auth.keys import KeyLimits, Principal, Scope
from svc.errors import TooManySockets
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Frame, running

_STEPS = 40  # of the event loop: more than a session takes from its registration to its end


class _Client:
    """A socket whose client hangs up after so many steps, or stays."""

    def __init__(self, steps: int | None) -> None:
        self._steps = steps
        self.closed: int | None = None
        self.scope: dict[str, Any] = {}
        self.state = SimpleNamespace()

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
        connections = Connections({"websocket": 100}, 100)
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
        protocol = "websocket"
        principal: Principal | None = None
        makes_way = False

        def drain(self) -> None:
            raise RuntimeError("broken")

        def evict(self) -> None:
            raise AssertionError

    class Good(Broken):
        drained = False

        def drain(self) -> None:
            self.drained = True

    connections, good = Connections({"websocket": 100}, 100), Good()
    with connections.register(Broken()), connections.register(good), caplog.at_level(logging.ERROR):
        connections.drain()
    assert good.drained
    assert "could not be drained" in caplog.text


class _Idle:
    """A connection that does nothing."""

    def __init__(self, protocol: str, principal: Principal | None = None, *, makes_way: bool = False) -> None:
        self.protocol = protocol
        self.principal = principal
        self.makes_way = makes_way
        self.evicted = False

    def drain(self) -> None:
        raise AssertionError

    def evict(self) -> None:
        self.evicted = True


def _key(name: str, max_sockets: int | None = None) -> Principal:
    return Principal(name, frozenset({Scope.TTS}), limits=KeyLimits(max_sockets=max_sockets))


def test_a_key_cannot_take_all_sockets() -> None:
    connections = Connections({"websocket": 8}, 3)
    with ExitStack() as opened:

        def open_for(principal: Principal) -> None:
            opened.enter_context(connections.register(_Idle("websocket", principal)))

        for _ in range(3):
            open_for(_key("a"))
        with pytest.raises(TooManySockets, match="SVC_KEY_MAX_SOCKETS"):
            open_for(_key("a"))
        late = _Idle("websocket")
        opened.enter_context(connections.register(late))
        with pytest.raises(TooManySockets):  # known only by its first message
            connections.identify(late, _key("a"))
        assert late.principal is None
        for _ in range(3):
            connections.identify(late, _key("b", max_sockets=1))  # with every message
        with pytest.raises(TooManySockets, match="already has 1"):
            open_for(_key("b", max_sockets=1))
        open_for(_key("c"))
    assert len(connections) == 0


def test_protocols_have_places_of_their_own() -> None:
    connections = Connections({"websocket": 2, "wyoming": 1}, 9)
    with ExitStack() as opened:
        idle = _Idle("wyoming", makes_way=True)
        opened.enter_context(connections.register(idle))
        for _ in range(2):
            opened.enter_context(connections.register(_Idle("websocket")))
        with pytest.raises(TooManySockets):  # it takes no place of the other protocol
            opened.enter_context(connections.register(_Idle("websocket")))
        assert not idle.evicted
        opened.enter_context(connections.register(_Idle("wyoming")))
        assert idle.evicted
        with pytest.raises(TooManySockets):
            opened.enter_context(connections.register(_Idle("wyoming")))


@pytest.mark.parametrize("in_message", [False, True])
def test_another_key_finds_a_socket(phonemizer: Phonemizer, in_message: bool) -> None:
    with running(phonemizer, api_keys="first,second", max_sockets=4) as service, ExitStack() as opened:

        def speak(key: str) -> Frame:
            """The first frame that the server sends to a key on a new socket."""
            headers = None if in_message else {"xi-api-key": key}
            caller = opened.enter_context(service.open("stream-input", headers))
            credential = {"xi_api_key": key} if in_message else {}
            return caller.send({"text": "Hello there. ", "flush": True, **credential}).next()

        assert all("audio" in speak("first") for _ in range(3))
        refused = speak("first")
        assert (refused["error"], "SVC_KEY_MAX_SOCKETS" in refused["message"]) == ("system_busy", True)
        assert "audio" in speak("second")
