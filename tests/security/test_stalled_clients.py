"""Clients that hold a connection and do not use it: stalled readers, slow headers, too many of them."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import httpx
import pytest
import trustme

from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Running, eventually, running
from tests.security.wire import LONG, PATH, dial, exchange, read_rest, request, speak

pytestmark = pytest.mark.slow


def count_connections(service: Running) -> int:
    return len(service.server.server_state.connections)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_stalled_readers_lose_their_places(phonemizer: Phonemizer, version: str) -> None:
    with running(phonemizer, max_streams=2, stall_seconds=1) as service, ExitStack() as stack:
        for _ in range(2):
            stalled = stack.enter_context(dial(service.address, small=True))
            stalled.sendall(speak(LONG, version=version))
        eventually(lambda: service.engine.chunks > 20)
        eventually(lambda: httpx.post(f"{service.address}{PATH}", json={"text": "Hi."}).status_code == 200)
        eventually(lambda: count_connections(service) == 0)


def test_a_reader_that_takes_a_byte_now_and_then_is_stalled(phonemizer: Phonemizer) -> None:
    with running(phonemizer, stall_seconds=1) as service, dial(service.address, small=True) as stalled:
        stalled.sendall(speak(LONG))

        def read_a_byte() -> bool:
            with suppress(ConnectionResetError):
                stalled.recv(1)
            return count_connections(service) == 0

        eventually(read_a_byte)


def test_a_slow_download_of_a_whole_clip_is_not_stalled(phonemizer: Phonemizer) -> None:
    """The clip waits in the buffer of the transport, and every second some of it leaves."""
    with running(phonemizer, stall_seconds=1, header_seconds=1) as service, dial(service.address) as slow:
        slow.sendall(speak(LONG[:2000], f"{PATH}?output_format=pcm_48000"))
        head = b""
        while b"\r\n\r\n" not in head:
            head += slow.recv(1)
        length = int(head.partition(b"content-length: ")[2].split()[0])
        received = 0
        while received < length:
            received += (read := len(slow.recv(65_536)))
            assert read
            threading.Event().wait(0.02)
        assert received == length


def test_a_stalled_reader_that_has_its_whole_answer_pending_is_cut_off(phonemizer: Phonemizer) -> None:
    """The application has finished, and the transport would wait for ever to be rid of the rest."""
    with running(phonemizer, stall_seconds=1) as service, dial(service.address, small=True) as stalled:
        stalled.sendall(speak(LONG[:4000], f"{PATH}?output_format=pcm_48000", version="1.0"))
        eventually(lambda: count_connections(service) == 1)
        eventually(lambda: count_connections(service) == 0)


@contextmanager
def tls_proxy(address: str) -> Iterator[tuple[str, ssl.SSLContext]]:
    """Terminates TLS in front of a server, and waits for each side as the other one waits."""
    authority = trustme.CA()
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server_side)
    client_side = ssl.create_default_context()
    authority.configure_trust(client_side)
    host, port = address.removeprefix("http://").split(":")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError), closing(writer):
            while data := await reader.read(4096):
                writer.write(data)
                await writer.drain()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(copy(reader, behind_writer), copy(behind_reader, writer))

    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=server_side))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def stop() -> None:
        listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", client_side
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_stalled_reader_behind_a_tls_proxy(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_streams=1, stall_seconds=1) as service, tls_proxy(service.address) as (proxy, trust):
        plain = dial(proxy, small=True)
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as stalled:
            stalled.sendall(speak(LONG))
            eventually(lambda: service.engine.chunks > 50)
            eventually(lambda: httpx.post(f"{service.address}{PATH}", json={"text": "Hi."}).status_code == 200)


@pytest.mark.parametrize("beginning", [b"", b"GET / HTTP/1.1\r\nhost: local"])
def test_slow_headers_end_the_connection(phonemizer: Phonemizer, beginning: bytes) -> None:
    with running(phonemizer, header_seconds=1) as service, dial(service.address) as slow:
        slow.sendall(beginning)
        assert read_rest(slow) == b""


def test_a_second_request_that_stops_in_its_header(phonemizer: Phonemizer) -> None:
    with running(phonemizer, header_seconds=1) as service, dial(service.address) as slow:
        slow.sendall(request("GET", "/health") + b"GET /hea")
        answer = read_rest(slow)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.count(b"HTTP/1.1") == 1


def test_an_endless_body_after_the_answer_ends_the_connection(phonemizer: Phonemizer) -> None:
    """What comes after a refusal is read for a while, so that the client sees the answer."""
    with running(phonemizer, header_seconds=1, max_body_bytes=1000) as service, dial(service.address) as endless:
        endless.sendall(request("POST", PATH, {"transfer-encoding": "chunked", "content-type": "application/json"}))
        sent = 0
        with suppress(ConnectionResetError, BrokenPipeError):
            while True:
                endless.sendall(b"400\r\n" + b" " * 0x400 + b"\r\n")
                sent += 1
                threading.Event().wait(0.01)
        eventually(lambda: count_connections(service) == 0)


def test_more_connections_than_allowed_are_closed_at_once(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_connections=3) as service, ExitStack() as stack:
        eventually(lambda: count_connections(service) == 0)
        for _ in range(3):
            stack.enter_context(dial(service.address))
        eventually(lambda: count_connections(service) == 3)
        with dial(service.address) as further:
            assert read_rest(further) == b""
        stack.close()
        eventually(lambda: count_connections(service) == 0)
        assert exchange(service.address, request("GET", "/health", {"connection": "close"}))[0] == 200


_UPGRADE = {"connection": "upgrade", "upgrade": "websocket"}


@pytest.mark.parametrize(
    "handshake",
    [
        request("POST", f"{PATH}/stream-input", _UPGRADE),
        request("GET", f"{PATH}/stream-input", {**_UPGRADE, "x": "y" * 9000}),
        request("GET", f"{PATH}/stream-input", {**_UPGRADE, **{f"x{n}": "y" for n in range(200)}}),
        request("GET", f"{PATH}/stream-input", _UPGRADE),
    ],
    ids=["post", "long header", "many headers", "no key"],
)
def test_a_broken_handshake_is_answered(phonemizer: Phonemizer, handshake: bytes) -> None:
    with running(phonemizer) as service, dial(service.address) as connection:
        connection.sendall(handshake)
        assert connection.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 426")
        read_rest(connection)
        eventually(lambda: count_connections(service) == 0)
