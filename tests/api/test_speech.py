"""`POST /v1/text-to-speech/{voice_id}` and `/stream`, on the fake engine."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import av
import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.audio.formats import OUTPUT_FORMATS
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import eventually
from tests.conftest import serve_ready

PATH = "/v1/text-to-speech/af_heart"
HEART = "svcAfHeart0000000000"


@pytest.mark.parametrize("path", [PATH, f"{PATH}/stream"])
def test_headers_and_default_format(client: TestClient, path: str) -> None:
    response = client.post(path, json={"text": "Hello, world!"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "audio/mpeg"
    assert response.headers["x-svc-voice"] == HEART
    assert response.headers["character-cost"] == "13"
    assert len(response.headers["request-id"]) == 32
    item = response.headers["history-item-id"]
    assert item != client.post(path, json={"text": "Hello, world!"}).headers["history-item-id"]
    assert client.get(f"/v1/history/{item}").json()["detail"]["status"] == "history_item_not_found"
    stream = av.open(io.BytesIO(response.content)).streams.audio[0]
    assert (stream.codec_context.name, stream.rate) == ("mp3float", 44_100)


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_every_format(client: TestClient, name: str) -> None:
    for path in (PATH, f"{PATH}/stream"):
        response = client.post(path, params={"output_format": name}, json={"text": "Hello."})
        assert response.status_code == 200
        assert response.headers["content-type"] == OUTPUT_FORMATS[name].content_type
        assert response.content


def test_whole_clip_is_the_stream_joined(client: TestClient) -> None:
    body = {"text": "One sentence. And another one, a little longer."}
    whole, streamed = (
        client.post(path, params={"output_format": "pcm_24000"}, json=body).content for path in (PATH, f"{PATH}/stream")
    )
    assert whole == streamed


def test_unknown_format_lists_the_valid_ones(client: TestClient) -> None:
    response = client.post(PATH, params={"output_format": "mp3_1_1"}, json={"text": "Hello."})
    assert response.status_code == 400
    detail = response.json()["detail"]
    assert detail["status"] == "invalid_output_format"
    assert all(name in detail["message"] for name in OUTPUT_FORMATS)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": None},
        {"text": 5},
        {"text": ["a"]},
        {"text": ""},
        {"text": " \n\t\u00a0"},
        {"text": "hello", "voice_settings": "loud"},
        [],
        "text",
    ],
)
def test_bodies_that_do_not_fit(client: TestClient, body: object) -> None:
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert all({"loc", "msg", "type"} == set(each) for each in response.json()["detail"])


@pytest.mark.parametrize(
    "extra",
    [
        {"voice_settings": None},
        {"voice_settings": {}},
        {"voice_settings": {"stability": 1, "similarity_boost": 0, "style": 5, "speed": -3, "use_speaker_boost": None}},
        {"voice_settings": {"stability": "0.3", "speed": 1e400, "clone_strength": 2}},
        {"model_id": "eleven_multilingual_v2", "voice": {"a": 1}, "stream": True, "never_heard_of": [1]},
        {"model_id": None, "language_code": None, "seed": None, "previous_text": None, "next_text": None},
        {"language_code": "xx-unknown"},
        {"language": "pt-BR", "seed": 4294967295},
        {"seed": 10**400},
        {"pronunciation_dictionary_locators": ["a"], "apply_text_normalization": 7, "optimize_streaming_latency": "x"},
        {"previous_request_ids": ["unknown"], "next_request_ids": None, "audio_effects": {}},
    ],
)
def test_tolerant_body(client: TestClient, extra: dict[str, object]) -> None:
    body = json.dumps({"text": "Hello.", **extra}).replace("Infinity", "1e400")
    response = client.post(PATH, content=body, headers={"content-type": "application/json"})
    assert response.status_code == 200, response.text


HOSTILE = {
    "one character": "a",
    "emoji only": "😀👍🏽🏳️‍🌈",
    "punctuation only": "?!… — ()",
    "one endless word": "a" * 5000,
    "exclamation": "!" * 10_000,
    "control characters": "a\x00b\x07c\x1b[31m d\x7f",
    "right to left": "مرحبا بالعالم שלום עולם",
    "zero width": "h\u200be\u200dl\ufefflo",
    "combining": "e" + "\u0301" * 3000,
    "angle brackets": "<" * 5000,
    "open tags": "<break" * 1000,
    "digits": "1234567890" * 400,
    "no spaces": "don't-stop/me,now" * 200,
    "newlines": "\n\n\n".join("abc"),
    "mixed": "Hello 你好 こんにちは नमस्ते Привет 안녕 ไทย",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_get_an_answer(client: TestClient, text: str) -> None:
    response = client.post(PATH, params={"output_format": "pcm_8000"}, json={"text": text})
    assert response.status_code == 200
    assert len(response.content) >= 1000


def test_lone_surrogates(client: TestClient) -> None:
    body = b'{"text": "a \\ud800 b \\udc00", "previous_text": "\\ud800", "model_id": "\\udfff"}'
    assert client.post(PATH, content=body, headers={"content-type": "application/json"}).status_code == 200
    wrong = client.post(
        PATH, content=b'{"text": 1, "\\ud800": "\\ud800"}', headers={"content-type": "application/json"}
    )
    assert wrong.status_code == 422


def test_silence_for_emoji_is_short(client: TestClient) -> None:
    response = client.post(PATH, params={"output_format": "pcm_24000"}, json={"text": "😀"})
    assert 0 < len(response.content) / 2 / 24_000 < 1
    assert not any(response.content)


def test_text_limit(phonemizer: Phonemizer) -> None:
    with serve_ready(Settings(max_characters=10), Pipeline(FakeEngine(), phonemizer)) as client:
        assert client.post(PATH, json={"text": "ten chars!"}).status_code == 200
        response = client.post(PATH, json={"text": "eleven char"})
        assert response.status_code == 400
        assert response.json()["detail"]["status"] == "max_character_limit_exceeded"


@pytest.mark.slow
def test_longest_text(client: TestClient) -> None:
    text = ("All work and no play makes for a rather long text, doesn't it? " * 700)[:40_000]
    response = client.post(PATH, params={"output_format": "ulaw_8000"}, json={"text": text})
    assert response.status_code == 200
    assert len(response.content) > 8000 * 60


def test_unknown_voices(client: TestClient, phonemizer: Phonemizer) -> None:
    response = client.post("/v1/text-to-speech/nobody", json={"text": "Hello."})
    assert response.headers["x-svc-voice"] == HEART
    with serve_ready(Settings(strict_voices=True), Pipeline(FakeEngine(), phonemizer)) as strict:
        response = strict.post("/v1/text-to-speech/nobody", json={"text": "Hello."})
        assert (response.status_code, response.json()["detail"]["status"]) == (404, "voice_not_found")


def test_loading_engine_answers_503_with_retry_after(phonemizer: Phonemizer) -> None:
    class Slow(FakeEngine):
        released = threading.Event()

        def load(self) -> None:
            self.released.wait()

    with TestClient(create_app(Settings(), Pipeline(Slow(), phonemizer))) as client:
        for path in (PATH, f"{PATH}/stream"):
            response = client.post(path, json={"text": "Hello."})
            assert response.status_code == 503
            assert response.json()["detail"]["status"] == "model_loading"
            assert int(response.headers["retry-after"]) > 0
        assert client.get("/health").status_code == 503
        Slow.released.set()
        while client.get("/health").status_code != 200:
            pass


def test_broken_engine_is_a_500_in_the_usual_shape(phonemizer: Phonemizer) -> None:
    class Broken(FakeEngine):
        def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
            raise RuntimeError("secret internals")

    with serve_ready(Settings(), Pipeline(Broken(), phonemizer)) as client:
        for path in (PATH, f"{PATH}/stream"):
            response = client.post(path, json={"text": "Hello."})
            assert response.status_code == 500
            assert response.json()["detail"]["status"] == "internal_error"
            assert "secret" not in response.text
            assert response.headers["request-id"] in response.json()["detail"]["message"]


class _Counting(FakeEngine):
    """Counts its steps, and does each only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = self.steps = 0
        self.let = threading.Semaphore(0)

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            self.begun += 1
            self.let.acquire()
            self.steps += 1
            yield chunk


@contextmanager
def _serve(engine: _Counting, phonemizer: Phonemizer) -> Iterator[str]:
    """A real server on a free port of the loopback, for what a test client cannot show."""
    server = uvicorn.Server(
        uvicorn.Config(create_app(Settings(), Pipeline(engine, phonemizer)), port=0, log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        eventually(lambda: httpx.get(f"{address}/health").status_code == 200)
        yield address
    finally:
        engine.let.release(10_000)
        server.should_exit = True
        thread.join()


LONG = "This is one of very many sentences in a long text. " * 40


def test_stream_sends_before_the_rest_is_made(phonemizer: Phonemizer) -> None:
    engine = _Counting()
    engine.let.release()  # one step must be enough for the response to begin: no other is let
    with (
        _serve(engine, phonemizer) as address,
        httpx.stream("POST", f"{address}{PATH}/stream?output_format=pcm_24000", json={"text": LONG}) as response,
    ):
        assert next(response.iter_raw())
        assert engine.steps == 1


@pytest.mark.parametrize("path", [PATH, f"{PATH}/stream"])
def test_hanging_up_stops_the_work(path: str, phonemizer: Phonemizer) -> None:
    engine = _Counting()
    with _serve(engine, phonemizer) as address:
        client = HTTPConnection(*urlsplit(address).netloc.split(":"))  # type: ignore[arg-type]
        client.request("POST", path, json.dumps({"text": LONG}), {"content-type": "application/json"})
        eventually(lambda: engine.begun > 0)
        client.close()
        eventually(lambda: "svc_streams 0.0\n" in httpx.get(f"{address}/metrics", timeout=600).text)
        before = engine.steps
        engine.let.release(1000)
        # Another request gets its turn, and by then the abandoned one is over.
        assert httpx.post(f"{address}{PATH}", json={"text": "Hello."}, timeout=600).status_code == 200
        after = engine.steps
        assert httpx.post(f"{address}{PATH}", json={"text": "Hello."}, timeout=600).status_code == 200
        assert engine.steps == after + 1, "the abandoned work goes on"
        assert after - before <= 4


def test_short_text_is_not_stuck_behind_a_long_one(phonemizer: Phonemizer) -> None:
    engine = _Counting()
    order: list[str] = []
    with _serve(engine, phonemizer) as address:

        def ask(name: str, text: str) -> None:
            assert httpx.post(f"{address}{PATH}?output_format=pcm_8000", json={"text": text}, timeout=600).is_success
            order.append(name)

        long = threading.Thread(target=ask, args=("long", LONG))
        long.start()
        engine.let.release()
        eventually(lambda: engine.steps > 0)
        short = threading.Thread(target=ask, args=("short", "Hello there."))
        short.start()
        eventually(lambda: "svc_streams 2.0\n" in httpx.get(f"{address}/metrics", timeout=600).text)
        engine.let.release(1000)
        long.join()
        short.join()
    assert order == ["short", "long"]
