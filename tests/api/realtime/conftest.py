"""A server that sockets can be opened to, with an engine that does what a test tells it to."""

import asyncio
import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.serving.server import Server, create_server
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

VOICE = "svcAfHeart0000000000"

Frame = dict[str, Any]


class PuppetEngine(FakeEngine):
    """Speaks only while it may, and stumbles over a sound that no other word of the tests has."""

    STUMBLE = "ʒ"

    def __init__(self) -> None:
        super().__init__()
        self.may_speak = threading.Event()
        self.may_speak.set()
        self.chunks = 0

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            self.may_speak.wait(timeout=300)
            if self.STUMBLE in utterance.phonemes:
                raise RuntimeError("the engine stumbles")
            self.chunks += 1
            yield chunk


@dataclass(frozen=True)
class Running:
    address: str
    engine: PuppetEngine
    server: Server

    def url(self, kind: str, /, voice: str = VOICE, **query: str) -> str:
        """Of `stream-input`, `multi-stream-input`, or one of those with `dialogue/` before it."""
        address = self.address.replace("http", "ws", 1)
        path = f"text-to-{kind}" if kind.startswith("dialogue/") else f"text-to-speech/{voice}/{kind}"
        return f"{address}/v1/{path}?{urlencode({'output_format': 'pcm_24000', **query})}"

    @contextmanager
    def open(self, kind: str, headers: Frame | None = None, /, **query: str) -> Iterator["Caller"]:
        with connect(self.url(kind, **query), additional_headers=headers, max_size=2**22) as socket:
            yield Caller(socket)

    def sockets(self) -> int:
        return len(self.server._connections)


@dataclass
class Caller:
    """One end of a socket, for a test."""

    socket: ClientConnection
    frames: list[Frame] = field(default_factory=list)

    def send(self, *messages: object) -> "Caller":
        for message in messages:
            self.socket.send(json.dumps(message))
        return self

    def next(self) -> Frame:
        frame: Frame = json.loads(self.socket.recv(timeout=120))
        self.frames.append(frame)
        return frame

    def until(self, wanted: Callable[[Frame], bool]) -> list[Frame]:
        """The frames up to one that is wanted."""
        frames = [self.next()]
        while not wanted(frames[-1]):
            frames.append(self.next())
        return frames

    def rest(self) -> list[Frame]:
        """The frames up to the close."""
        frames = []
        try:
            while True:
                frames.append(self.next())
        except ConnectionClosed:
            return frames

    @property
    def close_code(self) -> int | None:
        return self.socket.close_code


def audio(frames: list[Frame]) -> bytes:
    return b"".join(base64.b64decode(frame["audio"]) for frame in frames if frame.get("audio"))


def join_characters(frames: list[Frame], name: str = "alignment") -> str:
    return "".join("".join(frame[name]["chars"]) for frame in frames if frame.get(name))


def eventually(condition: Callable[[], bool]) -> None:
    """Waits for what happens soon after; a test that waits in vain fails."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("the condition was not met within 120 s")


@contextmanager
def running(
    phonemizer: Phonemizer, clock: Callable[[], float] = time.time, ping: float = 20, **settings: Any
) -> Iterator[Running]:
    engine = PuppetEngine()
    chosen = Settings(**settings)
    pipeline = Pipeline(engine, phonemizer, max_seconds=chosen.max_audio_seconds)
    server = create_server(create_app(chosen, pipeline, clock), chosen)
    server.config.ws_ping_interval = server.config.ws_ping_timeout = ping
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            eventually(lambda: server.started and httpx.get(f"{address}/health", timeout=120).status_code == 200)
            yield Running(address, engine, server)
        finally:
            engine.may_speak.set()
            server.should_exit = True
            thread.join(timeout=300)
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def service(phonemizer: Phonemizer) -> Iterator[Running]:
    with running(phonemizer) as service:
        yield service


@pytest.fixture(autouse=True)
def _whole_afterwards(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test does to a socket, the server forgets it."""
    yield
    if "service" in request.fixturenames:
        service: Running = request.getfixturevalue("service")
        service.engine.may_speak.set()
        eventually(lambda: service.sockets() == 0)
