"""A page's own sockets, which can send no header: the credential is in the address."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import KEY, VOICE, run, serving, wait_until_ready
from tests.clients.reply import Reply, Words, words_of

Messages = list[dict[str, Any]]
Conversation = dict[str, Any]
Speak = Callable[[str, Messages], Conversation]

TEXT = "The quick brown fox jumps over the lazy dog. Nobody knows what tomorrow will bring."
STREAM: Messages = [{"text": " "}, *({"text": f"{word} "} for word in TEXT.split()), {"text": ""}]
MULTI: Messages = [
    {"text": " ", "context_id": "a"},
    {"text": TEXT, "context_id": "a", "flush": True},
    {"context_id": "a", "close_context": True},
    {"close_socket": True},
]
MESSAGES = {"stream-input": STREAM, "multi-stream-input": MULTI}
PAGE = "https://a-page.example"


def in_node(address: str, messages: Messages) -> Conversation:
    """With the WebSocket of browsers, as Node has it."""
    conversation = run("browser.cjs", "js", address, *map(json.dumps, messages)).get_result("conversation")
    assert isinstance(conversation, dict)
    return conversation


def in_python(address: str, messages: Messages) -> Conversation:
    """With the one header that every page sends, whether it wants to or not."""
    frames = []
    try:
        with connect(address, origin=Origin(PAGE)) as socket:
            for message in messages:
                socket.send(json.dumps(message))
            while True:
                frames.append(json.loads(socket.recv()))
    except InvalidStatus as refusal:
        return {"frames": [], "code": 1006, "status": refusal.response.status_code}
    except ConnectionClosed:
        return {"frames": frames, "code": socket.close_code}


def audio(conversation: Conversation) -> bytes:
    return b"".join(base64.b64decode(frame["audio"]) for frame in conversation["frames"] if frame.get("audio"))


def reply(conversation: Conversation) -> Reply:
    told = [frame["alignment"] for frame in conversation["frames"] if frame.get("alignment")]
    return Reply(audio(conversation), words_of(told))


def socket_address(service: httpx.Client, kind: str, **credential: str) -> str:
    query = urlencode({"output_format": "pcm_24000", **credential})
    return f"{service.base_url}/v1/text-to-speech/{VOICE}/{kind}?{query}".replace("http", "ws", 1)


def ephemeral(service: httpx.Client) -> dict[str, str]:
    token = service.post("/v1/tokens/ephemeral").raise_for_status().json()["token"]
    return {"authorization": f"Bearer {token}"}


def single_use(service: httpx.Client) -> dict[str, str]:
    token = service.post("/v1/single-use-token/tts_websocket").raise_for_status().json()["token"]
    return {"single_use_token": token}


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Pipeline], Iterator[httpx.Client]]:
    """The backend of a page: it has a key, and makes tokens with it."""

    def serve(pipeline: Pipeline) -> Iterator[httpx.Client]:
        table = f"sqlite:///{tmp_path_factory.mktemp('keys') / 'keys.db'}"
        with (
            serving(create_app(Settings(api_key=KEY, api_keys_table=table), pipeline)) as address,
            httpx.Client(base_url=address, headers={"xi-api-key": KEY}) as backend,
        ):
            wait_until_ready(address)
            yield backend

    return serve


@pytest.fixture(scope="module")
def backend(serve: Callable[[Pipeline], Iterator[httpx.Client]], phonemizer: Phonemizer) -> Iterator[httpx.Client]:
    yield from serve(Pipeline(FakeEngine(), phonemizer))


@pytest.fixture(scope="module")
def real_backend(serve: Callable[[Pipeline], Iterator[httpx.Client]], pipeline: Pipeline) -> Iterator[httpx.Client]:
    yield from serve(pipeline)


def test_heard(real_backend: httpx.Client, transcribe_words: Callable[[Samples], Words]) -> None:
    conversation = in_node(socket_address(real_backend, "stream-input", **single_use(real_backend)), STREAM)
    spoken = reply(conversation)
    assert spoken.text == TEXT
    spoken.check_order()
    spoken.check_hearing(transcribe_words)
    *_, last = conversation["frames"]
    assert (last["audio"], last["isFinal"]) == (None, True)
    assert (conversation["code"], conversation["clean"]) == (1000, True)


@pytest.mark.parametrize("speak", [in_node, in_python])
@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("credential", [ephemeral, single_use])
def test_token_in_the_address(
    backend: httpx.Client, speak: Speak, kind: str, credential: Callable[[httpx.Client], dict[str, str]]
) -> None:
    conversation = speak(socket_address(backend, kind, **credential(backend)), MESSAGES[kind])
    assert conversation["code"] == 1000
    assert reply(conversation).text == TEXT
    reply(conversation).check_order()


@pytest.mark.parametrize("speak", [in_node, in_python])
def test_a_token_that_was_used(backend: httpx.Client, speak: Speak) -> None:
    stream, multi = (socket_address(backend, kind, **single_use(backend)) for kind in MESSAGES)
    for address, messages, code in ((stream, STREAM, 1008), (multi, MULTI, 1006)):
        assert speak(address, messages)["code"] == 1000
        again = speak(address, messages)
        # Of a refused handshake, a page learns nothing but that it failed.
        assert again["code"] == code
        assert audio(again) == b""


@pytest.mark.parametrize("kind", MESSAGES)
def test_no_token(backend: httpx.Client, kind: str) -> None:
    conversation = in_node(socket_address(backend, kind), MESSAGES[kind])
    assert conversation["code"] == 1008
    (error,) = conversation["frames"]
    assert error["error"] == "missing_api_key"
    assert error["message"] == conversation["reason"]


def test_key_in_the_first_message(backend: httpx.Client) -> None:
    first = {"text": " ", "authorization": ephemeral(backend)["authorization"]}
    conversation = in_node(socket_address(backend, "stream-input"), [first, *STREAM[1:]])
    assert conversation["code"] == 1000
    assert reply(conversation).text == TEXT
