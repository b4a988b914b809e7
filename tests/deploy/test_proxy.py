"""The proxy that svc is deployed behind, a real one with our configuration: TLS outside, nothing held back inside."""

import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import serving, wait_until_ready
from tests.voices.s3_server import free_port

ROOT = Path(__file__).parents[2]
CADDY = Path(sys.executable).with_name("caddy")
# For a machine where it must leave no traces, and where port 80 is not ours.
_FOR_TESTS = "{\n\tskip_install_trust\n\tadmin off\n\tauto_https disable_redirects\n}\n"
_TEXT = {"text": "The first of several sentences is this one. " * 4}


class PatientEngine(FakeEngine):
    """Pauses after the beginning of a text until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self._begun = False

    def pause(self) -> None:
        self._begun = False
        self.may_go_on.clear()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            if self._begun:
                self.may_go_on.wait(timeout=30)
            self._begun = True
            yield chunk


@dataclass(frozen=True)
class Proxied:
    address: str
    trust: ssl.SSLContext
    engine: PatientEngine


@pytest.fixture(scope="module")
def proxied(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp("caddy")
    port = free_port()
    engine = PatientEngine()
    settings = Settings(data_dir=folder / "data", cache_dir=folder / "cache")
    with serving(create_app(settings, Pipeline(engine, phonemizer))) as behind:
        wait_until_ready(behind)
        config = (ROOT / "deploy/Caddyfile").read_text().replace("svc:8000", behind.removeprefix("http://"))
        (folder / "Caddyfile").write_text(_FOR_TESTS + config)
        environment = {
            **os.environ,
            "DOMAIN": f"localhost:{port}",
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder),
        }
        command: list[str | Path] = [CADDY, "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as caddy:
            try:
                address = f"https://localhost:{port}"
                trust = _answering(caddy, address, folder / "caddy/pki/authorities/local/root.crt")
                yield Proxied(address, trust, engine)
            finally:
                caddy.terminate()


def _answering(caddy: "subprocess.Popen[bytes]", address: str, authority: Path) -> ssl.SSLContext:
    """Waits for the proxy; how to trust it."""
    while True:
        assert caddy.poll() is None, "the proxy did not start"
        with suppress(httpx.TransportError, OSError):
            trust = ssl.create_default_context(cafile=authority)
            if httpx.get(f"{address}/health", verify=trust).status_code == 200:
                return trust
        time.sleep(0.05)


def test_configuration_is_valid_and_tidy() -> None:
    for action in (["validate", "--adapter", "caddyfile", "--config"], ["fmt", "--diff"]):
        environment = {**os.environ, "DOMAIN": "speech.example.com"}
        done = subprocess.run(
            [CADDY, *action, ROOT / "deploy/Caddyfile"], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr or done.stdout


def test_links_lead_through_the_proxy(proxied: Proxied) -> None:
    voice = httpx.get(f"{proxied.address}/v1/voices/af_heart", verify=proxied.trust).json()
    assert voice["preview_url"].startswith(f"{proxied.address}/previews/")


def test_speech_is_passed_on_as_it_is_made(proxied: Proxied) -> None:
    """The engine may not go on before the client has heard its beginning."""
    engine = proxied.engine
    address = f"{proxied.address}/v1/text-to-speech/af_heart/stream?output_format=pcm_24000"
    engine.pause()
    try:
        with httpx.stream("POST", address, json=_TEXT, verify=proxied.trust, timeout=20) as answer:
            parts = answer.iter_raw()
            assert next(parts)
            engine.may_go_on.set()
            assert sum(map(len, parts)) > 24_000
    finally:
        engine.may_go_on.set()


def test_sockets_are_passed_on(proxied: Proxied) -> None:
    address = proxied.address.replace("https", "wss") + "/v1/text-to-speech/af_heart/stream-input"
    with connect(address, ssl=proxied.trust) as socket:
        socket.send(json.dumps({"text": "Hello there. "}))
        socket.send(json.dumps({"text": ""}))
        frames = [json.loads(frame) for frame in socket]
    assert frames[0]["audio"]
    assert frames[-1]["isFinal"]
    assert socket.close_code == 1000
