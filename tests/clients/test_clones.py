"""Clones, under the spellings of their ids that unmodified clients let through; and servers without keys."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.store import VoiceStore
from tests.clients.conftest import CLIENTS, drive, serving, wait_until_ready
from tests.voices.examples import make_voice

CLONE = make_voice("Rachel's sister", reference=None)
BARE = CLONE.voice_id.removeprefix("custom-")


class _NotesVoices:
    """Remembers who spoke, which audio alone does not tell."""

    def __init__(self, app: ASGIApp, spoke: list[str]) -> None:
        self._app = app
        self._spoke = spoke

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            for name, value in message.get("headers", ()):
                if name == b"x-svc-voice":
                    self._spoke.append(value.decode())
            await send(message)

        await self._app(scope, receive, note)


@pytest.fixture(scope="module")
def open_server(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """Its address, and who has spoken."""
    folder, spoke = tmp_path_factory.mktemp("data"), list[str]()
    VoiceStore(folder / "voices").add(CLONE, None)
    app = create_app(Settings(data_dir=folder), Pipeline(FakeEngine(), phonemizer))
    app.add_middleware(_NotesVoices, spoke=spoke)
    with ExitStack() as stack:
        address = stack.enter_context(serving(app))
        wait_until_ready(address)
        yield address, spoke


@pytest.mark.parametrize("client", CLIENTS)
def test_letters_and_digits_alone_speak_with_every_client(open_server: tuple[str, list[str]], client: str) -> None:
    address, spoke = open_server
    spoke.clear()
    report = drive(client, address, calls=["clip"], voice=BARE)
    assert base64.b64decode(report.get_result("clip"))
    assert spoke == [CLONE.voice_id]


@pytest.mark.parametrize("client", ["python_1", "javascript_1"])
@pytest.mark.parametrize("voice", [CLONE.voice_id, BARE, CLONE.name], ids=["id", "bare id", "name"])
def test_clients_that_look_names_up_find_ids(open_server: tuple[str, list[str]], client: str, voice: str) -> None:
    address, spoke = open_server
    spoke.clear()
    report = drive(client, address, calls=["looked_up"], voice=voice)
    assert base64.b64decode(report.get_result("looked_up"))
    assert spoke == [CLONE.voice_id]


@pytest.mark.parametrize("client", ["python_2", "javascript_2"])
def test_an_open_server_gives_single_use_tokens(open_server: tuple[str, list[str]], client: str) -> None:
    report = drive(client, open_server[0], calls=["single_use_token"])
    assert report.get_result("single_use_token")["token"].startswith("svc_once_")
