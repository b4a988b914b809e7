"""Every way in which a socket can end, and that nothing is left of it."""

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar, cast

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from svc.api.realtime import session
from svc.api.realtime.context import Context
from svc.auth.keys import Scope
from svc.auth.table import KeysTable
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Frame, Running, eventually, join_characters, running
from tests.auth.clock import Clock

pytestmark = pytest.mark.slow

T = TypeVar("T")

KINDS = ["stream-input", "multi-stream-input"]
LONG = "This is a long sentence that goes on and on. " * 12


@pytest.fixture
def guarded(phonemizer: Phonemizer, tmp_path: Path) -> Iterator[tuple[Running, Clock]]:
    clock = Clock(1_800_000_000)
    with running(phonemizer, clock, api_key="right", api_keys_table=_table(tmp_path), keys_cache_seconds=0) as service:
        yield service, clock


def _table(folder: Path) -> str:
    return f"sqlite:///{folder}/keys.db"


async def _with_table(folder: Path, use: Callable[[KeysTable], Awaitable[T]]) -> T:
    table = KeysTable(_table(folder))
    try:
        return await use(table)
    finally:
        await table.close()


@pytest.mark.parametrize(
    ("headers", "query", "first"),
    [
        ({"xi-api-key": "right"}, {}, {}),
        ({"authorization": "Bearer right"}, {}, {}),
        ({}, {"authorization": "Bearer right"}, {}),
        ({}, {}, {"authorization": "Bearer right"}),
        ({}, {}, {"xi_api_key": "right"}),
        ({}, {}, {"xi-api-key": "right"}),
    ],
)
def test_where_a_key_may_be(guarded: tuple[Running, Clock], headers: Frame, query: Frame, first: Frame) -> None:
    service, _ = guarded
    with service.open("stream-input", headers, **query) as caller:
        caller.send({"text": " ", **first}, {"text": "Hello."}, {"text": ""})
        assert join_characters(caller.rest()).strip() == "Hello."
        assert caller.close_code == 1000


@pytest.mark.parametrize(
    ("headers", "first", "status"),
    [
        ({"xi-api-key": "wrong"}, {}, "invalid_api_key"),
        ({}, {"authorization": "Bearer wrong"}, "invalid_api_key"),
        ({}, {}, "missing_api_key"),
    ],
)
def test_a_wrong_key_on_stream_input(guarded: tuple[Running, Clock], headers: Frame, first: Frame, status: str) -> None:
    service, _ = guarded
    with service.open("stream-input", headers) as caller:
        (frame,) = caller.send({"text": " ", **first}).rest()
        assert (frame["error"], frame["code"], frame["audio"]) == (status, 1008, None)
        assert frame["message"]
        assert (caller.close_code, caller.socket.close_reason) == (1008, frame["message"])


def test_a_single_use_token_opens_one_socket(guarded: tuple[Running, Clock]) -> None:
    service, _ = guarded
    minted = httpx.post(f"{service.address}/v1/single-use-token/tts_websocket", headers={"xi-api-key": "right"})
    token = minted.json()["token"]
    with service.open("stream-input", single_use_token=token) as caller:
        caller.send({"text": " "}, {"text": "Hello."}, {"text": "", "flush": True})
        assert join_characters(caller.rest()).strip() == "Hello."
    with service.open("stream-input", single_use_token=token) as caller:
        (frame,) = caller.send({"text": " "}).rest()
        assert frame["error"] == "invalid_api_key"


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_that_expires_ends_the_socket_with_the_next_message(guarded: tuple[Running, Clock], kind: str) -> None:
    service, clock = guarded
    minted = httpx.post(
        f"{service.address}/v1/tokens/ephemeral", headers={"xi-api-key": "right"}, json={"ttl_seconds": 60}
    )
    with service.open(kind, authorization=f"Bearer {minted.json()['token']}") as caller:
        caller.send({"text": "Hello there.", "context_id": "a", "flush": True})
        caller.until(lambda frame: "." in join_characters([frame]))
        clock.now += 3600
        (frame,) = caller.send({"text": "And more.", "context_id": "a"}).rest()
        assert (frame["error"], caller.close_code) == ("invalid_api_key", 1008)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mint", ["tokens/ephemeral", "single-use-token/tts_websocket"])
def test_a_token_whose_key_is_rotated_ends_the_socket_with_the_next_message(
    guarded: tuple[Running, Clock], tmp_path: Path, kind: str, mint: str
) -> None:
    service, clock = guarded
    key, stored = asyncio.run(_with_table(tmp_path, lambda table: table.create(clock(), scopes=[Scope.FULL])))
    token = httpx.post(f"{service.address}/v1/{mint}", headers={"xi-api-key": key}).json()["token"]
    with service.open(kind, authorization=f"Bearer {token}") as caller:
        caller.send({"text": "Hello there.", "context_id": "a", "flush": True})
        caller.until(lambda frame: "." in join_characters([frame]))
        asyncio.run(_with_table(tmp_path, lambda table: table.rotate(stored.id)))
        (frame,) = caller.send({"text": "And more.", "context_id": "a"}).rest()
        assert (frame["error"], caller.close_code) == ("invalid_api_key", 1008)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stranger_is_not_waited_for_as_long_as_a_client(
    guarded: tuple[Running, Clock], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session._UNAUTHENTICATED_TIMEOUT == 20
    monkeypatch.setattr(session, "_UNAUTHENTICATED_TIMEOUT", 3)
    service, _ = guarded
    with (
        service.open(kind, {"xi-api-key": "right"}, inactivity_timeout="180") as known,
        service.open(kind, inactivity_timeout="180") as stranger,
    ):
        known.send({"text": " ", "context_id": "a"})
        (frame,) = stranger.rest()
        assert (frame["error"], stranger.close_code) == ("input_timeout_exceeded", 1008)
        assert known.socket.ping().wait(timeout=120)
        assert known.close_code is None


@pytest.mark.parametrize("kind", KINDS)
def test_silence_of_the_client(service: Running, kind: str) -> None:
    with service.open(kind, inactivity_timeout="1") as caller:
        (frame,) = caller.send({"text": " ", "context_id": "a"}).rest()
        assert (frame["error"], frame["code"], caller.close_code) == ("input_timeout_exceeded", 1008, 1008)


def test_silence_does_not_count_while_the_server_speaks(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def note_question(context: Context[str]) -> bool:
        """Only a socket whose client has been silent for too long asks this."""
        asked.set()
        return is_busy(context)

    is_busy = cast(Callable[[Context[str]], bool], vars(Context)["busy"].fget)
    monkeypatch.setattr(Context, "busy", property(note_question))
    with service.open("stream-input", inactivity_timeout="1") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": "Hello there.", "flush": True})
        assert asked.wait(120)
        service.engine.may_speak.set()
        assert join_characters(caller.rest()).strip() == "Hello there."
        assert caller.close_code == 1008


def test_the_engine_fails_in_mid_sentence(service: Running) -> None:
    with service.open("stream-input") as caller:
        *_, frame = caller.send({"text": "Hello there. An azure pleasure.", "flush": True}).rest()
        assert (frame["error"], frame["code"], caller.close_code) == ("internal_error", 1011, 1011)
        assert "stumbles" not in json.dumps(frame)


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_vanishes(service: Running, kind: str) -> None:
    with service.open(kind) as caller:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "context_id": "a"}, {"context_id": "a", "flush": True})
        before = service.engine.chunks
        caller.socket.socket.shutdown(socket.SHUT_RDWR)
        eventually(lambda: service.sockets() == 0)
        service.engine.may_speak.set()
    assert service.engine.chunks - before <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_shuts_down(phonemizer: Phonemizer, kind: str) -> None:
    with running(phonemizer) as service, service.open(kind) as caller, service.open(kind) as idle:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "context_id": "a", "flush": True}, {"text": "Not flushed.", "context_id": "a"})
        eventually(lambda: service.sockets() == 2)
        assert caller.socket.ping().wait(timeout=120)
        service.server.should_exit = True
        assert idle.rest() == []
        assert idle.close_code == 1012
        with pytest.raises(InvalidStatus) as refusal, service.open(kind):
            pass
        assert refusal.value.response.status_code == 503
        service.engine.may_speak.set()
        frames = caller.rest()
        assert join_characters(frames) == LONG
        assert (frames[-1]["isFinal"], caller.close_code) == (True, 1012)


def test_a_shutdown_does_not_wait_forever(phonemizer: Phonemizer) -> None:
    with running(phonemizer, shutdown_seconds=0.2) as service, service.open("stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "flush": True})
        assert caller.socket.ping().wait(timeout=120)
        service.server.should_exit = True
        caller.rest()
        assert caller.close_code == 1012


def _silent_client(service: Running, kind: str, **query: str) -> socket.socket:
    """A client that never reads and never answers a ping, with the smallest buffer there is."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = service.address.removeprefix("http://").split(":")
    plain.connect((host, int(port)))
    path = service.url(kind, **query).partition(f"{port}")[2]
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    plain.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n".encode())
    assert plain.recv(4096).startswith(b"HTTP/1.1 101")
    return plain


def _mask(message: Frame) -> bytes:
    payload = json.dumps(message).encode()
    return b"\x81" + bytes([0x80 | 126]) + len(payload).to_bytes(2) + b"\0\0\0\0" + payload


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_does_not_read_holds_up_nobody_and_is_dropped(phonemizer: Phonemizer, kind: str) -> None:
    with running(phonemizer, ping=1) as service:
        stubborn = _silent_client(service, kind, output_format="pcm_48000")
        stubborn.sendall(_mask({"text": LONG * 50, "context_id": "a", "flush": True}))
        eventually(lambda: service.engine.chunks > 5)
        with service.open("stream-input") as caller:
            caller.send({"text": "Hello."}, {"text": ""})
            assert join_characters(caller.rest()) == "Hello."
        made = service.engine.chunks
        assert made < 200  # of some 700: the engine does not run ahead of who does not listen
        eventually(lambda: service.sockets() == 0)
        stubborn.close()


def test_a_connection_that_is_open_at_one_end_only_is_noticed(phonemizer: Phonemizer) -> None:
    with running(phonemizer, ping=0.3) as service, _silent_client(service, "stream-input", inactivity_timeout="180"):
        eventually(lambda: service.sockets() == 1)
        eventually(lambda: service.sockets() == 0)


def test_too_many_sockets(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_sockets=1) as service, service.open("stream-input") as first:
        first.send({"text": "Hello."})
        assert first.socket.ping().wait(timeout=120)
        eventually(lambda: not any(session.makes_way for session in service.server._connections._connected))
        with pytest.raises(InvalidStatus) as refusal, service.open("multi-stream-input"):
            pass
        assert refusal.value.response.status_code == 429
        first.send({"text": ""})
        assert join_characters(first.rest()) == "Hello."


@pytest.mark.parametrize("kind", KINDS)
def test_silent_sockets_make_room(phonemizer: Phonemizer, kind: str) -> None:
    """The one that was opened first goes; one that has spoken stays, whatever credential the silent ones invent."""
    with running(phonemizer, max_sockets=3) as service, service.open(kind) as active:
        active.send({"text": "Hello.", "context_id": "a"})
        eventually(lambda: service.sockets() == 1)
        eventually(lambda: not any(session.makes_way for session in service.server._connections._connected))
        with service.open(kind, {"xi-api-key": "invented"}) as oldest, service.open(kind) as later:
            eventually(lambda: service.sockets() == 3)
            with service.open(kind) as caller:
                assert oldest.rest() == []
                assert (oldest.close_code, service.sockets()) == (1013, 3)
                assert oldest.socket.close_reason
                caller.send({"text": "Hi.", "context_id": "a", "flush": True}, {"text": "", "close_socket": True})
                assert join_characters(caller.rest()).strip() == "Hi."
            assert later.socket.ping().wait(timeout=120)
            assert active.socket.ping().wait(timeout=120)


def test_authenticated_sockets_are_not_closed_for_others(guarded: tuple[Running, Clock]) -> None:
    service, _ = guarded
    service.server._connections._limits = {"websocket": 1}
    with service.open("multi-stream-input", {"xi-api-key": "right"}) as first:
        eventually(lambda: service.sockets() == 1)
        with pytest.raises(InvalidStatus), service.open("multi-stream-input", {"xi-api-key": "right"}):
            pass
        assert first.socket.ping().wait(timeout=120)


def test_a_page_from_elsewhere_may_not_use_an_open_server(service: Running) -> None:
    with pytest.raises(InvalidStatus) as refusal, service.open("stream-input", {"origin": "https://evil.example"}):
        pass
    assert refusal.value.response.status_code == 403
    with service.open("stream-input", {"origin": "http://localhost:3000"}) as caller:
        assert join_characters(caller.send({"text": "Hello."}, {"text": ""}).rest()) == "Hello."


def test_nothing_is_left_behind(service: Running) -> None:
    def converse() -> None:
        for kind in KINDS:
            with service.open(kind) as caller:
                caller.send({"text": LONG, "context_id": "a", "flush": True})
                caller.next()

    converse()
    eventually(lambda: service.sockets() == 0)
    threads = threading.active_count()
    # By `type`, because a weak proxy to something that is gone raises when it is asked for its class.
    loops = [each for each in gc.get_objects() if issubclass(type(each), asyncio.AbstractEventLoop)]
    loop = next(each for each in loops if each.is_running())
    tasks = len(asyncio.all_tasks(loop))
    for _ in range(10):
        converse()
    eventually(lambda: service.sockets() == 0)
    eventually(lambda: threading.active_count() <= threads)

    def contexts() -> int:
        gc.collect()
        return sum(isinstance(each, Context) for each in gc.get_objects())

    eventually(lambda: contexts() == 0)
    eventually(lambda: len(asyncio.all_tasks(loop)) <= tasks)
