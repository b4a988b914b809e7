"""The OpenAI speech API: formats, speeds, events, voices, models, and errors in its shape."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest
from fastapi.testclient import TestClient

from svc.api.speech.openai_schemas import FORMATS
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices import known_voices
from tests.conftest import serve_ready

TEXT = "Hello there. It is a fine day."
NAMES = ["alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse"]
NAMES += ["marin", "cedar"]
CONTENT_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


@pytest.fixture(scope="module")
def strict(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server with a key, strict voices and a small limit."""
    settings = Settings(
        api_key="secret", strict_voices=True, max_characters=100, data_dir=tmp_path_factory.mktemp("data")
    )
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        client.headers["authorization"] = "Bearer secret"
        yield client


def speak(client: TestClient, prefix: str = "/v1", **fields: Any) -> Any:
    return client.post(f"{prefix}/audio/speech", json={"model": "tts-1", "input": TEXT, "voice": "alloy", **fields})


def measure(audio: bytes, container: str) -> tuple[str, int, float]:
    """The codec, the sample rate, and the seconds."""
    if container == "pcm":
        return "pcm_s16le", 24_000, len(audio) / 48_000
    with av.open(io.BytesIO(audio), "r") as clip:
        stream = clip.streams.audio[0]
        samples = sum(frame.samples for frame in clip.decode(stream))
        return stream.codec_context.name, stream.rate, samples / stream.rate


def read_error(response: Any) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error"}
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize("prefix", ["/v1", "/openai/v1"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_audio_that_it_says(client: TestClient, prefix: str, name: str) -> None:
    response = speak(client, prefix, response_format=name)
    assert (response.status_code, response.headers["content-type"]) == (200, CONTENT_TYPES[name])
    assert "content-length" not in response.headers  # it is sent as it is made
    codec, rate, seconds = measure(response.content, name)
    assert codec.startswith({"wav": "pcm_s16le", "pcm": "pcm_s16le"}.get(name, name))
    assert rate == {"mp3": 44_100, "opus": 48_000}.get(name, 24_000)
    pcm = speak(client, response_format="pcm").content
    assert seconds == pytest.approx(len(pcm) / 48_000, abs=0.1)


def test_without_a_format_it_is_mp3_and_the_headers_are_those_of_all_speech(client: TestClient) -> None:
    response = speak(client, instructions="Whisper.", stream=False, voice={"id": "am_echo"})
    assert response.headers["content-type"] == "audio/mpeg"
    assert response.headers["x-svc-voice"] == "svcAmEcho00000000000"
    assert response.headers["x-svc-model"] == "tts-1"
    assert response.headers["character-cost"] == str(len(TEXT))
    assert response.headers["request-id"]
    same = client.post("/v1/text-to-speech/am_echo/stream", json={"text": TEXT})
    assert response.content == same.content


def test_null_counts_as_absent_and_only_the_input_is_required(client: TestClient) -> None:
    nulls = {"model": None, "voice": None, "response_format": None, "speed": None, "stream_format": None}
    default = client.post("/v1/audio/speech", json={"input": TEXT})
    assert default.status_code == 200
    assert client.post("/v1/audio/speech", json={"input": TEXT, **nulls}).content == default.content


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_whole_range_of_speeds_is_spoken(client: TestClient, speed: float) -> None:
    usual = len(speak(client, response_format="pcm").content)
    assert len(speak(client, response_format="pcm", speed=speed).content) == pytest.approx(usual / speed, rel=0.1)


def test_events_carry_the_audio_and_end_with_the_usage(client: TestClient) -> None:
    response = speak(client, response_format="pcm", stream_format="sse")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("\n\n")
    lines = response.text.removesuffix("\n\n").split("\n\n")
    assert all(line.startswith("data: ") for line in lines)
    *deltas, done = (json.loads(line.removeprefix("data: ")) for line in lines)
    assert all(set(delta) == {"type", "audio"} and delta["type"] == "speech.audio.delta" for delta in deltas)
    audio = b"".join(base64.b64decode(delta["audio"]) for delta in deltas)
    assert audio == speak(client, response_format="pcm").content
    seconds = -(-len(audio) // 48_000)
    usage = {"input_tokens": len(TEXT), "output_tokens": seconds, "total_tokens": len(TEXT) + seconds}
    assert done == {"type": "speech.audio.done", "usage": usage}


@pytest.mark.parametrize("name", NAMES)
def test_every_voice_of_openai_speaks_also_where_voices_are_strict(strict: TestClient, name: str) -> None:
    response = speak(strict, voice=name)
    assert response.status_code == 200
    own = strict.get(f"/v1/voices/{known_voices.OPENAI_NAMES.get(name, name)}").json()["voice_id"]
    assert response.headers["x-svc-voice"] == own


def test_ids_names_and_mixes_of_this_server_come_first(strict: TestClient) -> None:
    parts = [{"voice_id": "af_bella", "weight": 3}, {"voice_id": "am_adam"}]
    kept = strict.post("/v1/voices/mix", json={"name": "Sage", "parts": parts}).json()["voice_id"]
    assert speak(strict, voice="sage").headers["x-svc-voice"] == kept
    assert strict.delete(f"/v1/voices/{kept}").status_code == 200
    assert speak(strict, voice="sage").headers["x-svc-voice"] == "svcAfSarah0000000000"
    mix = "af_bella(3)+af_nicole"
    assert speak(strict, voice=mix).headers["x-svc-voice"] == mix


def test_an_unknown_voice_is_the_default_voice_or_where_voices_are_strict_an_error(
    client: TestClient, strict: TestClient
) -> None:
    assert speak(client, voice="nobody").headers["x-svc-voice"] == "svcAfHeart0000000000"
    response = speak(strict, voice="nobody")
    assert response.status_code == 404
    error = read_error(response)
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", "voice", "voice_not_found")


@pytest.mark.parametrize("path", ["/v1/audio/voices", "/openai/v1/audio/voices", "/v1/audio/voices?limit=100"])
def test_the_voices_are_listed_by_ids_that_speak(client: TestClient, path: str) -> None:
    voices = client.get(path).json()["voices"]
    assert {"id": "af_heart", "name": "Heart"} in voices
    assert len(voices) >= 54
    assert speak(client, voice=voices[3]["id"]).status_code == 200


def test_models_have_the_shape_of_openai_below_the_prefix_alone(client: TestClient) -> None:
    listed = client.get("/openai/v1/models").json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["svc-turbo", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"]
    assert all(set(model) == {"id", "object", "created", "owned_by"} for model in listed["data"])
    assert client.get("/openai/v1/models/tts-1").json() == listed["data"][1]
    assert client.get("/v1/audio/models").json()["models"][1] == {"id": "tts-1"}
    assert isinstance(client.get("/v1/models").json(), list)
    unknown = client.get("/openai/v1/models/gpt-4o")
    assert unknown.status_code == 404
    assert read_error(unknown)["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": " "}, "input"),
        ({"input": None}, "input"),
        ({"input": 3}, "input"),
        ({"response_format": "ogg"}, "response_format"),
        ({"speed": 0.2}, "speed"),
        ({"speed": 4.1}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"voice": ["alloy"]}, "voice"),
        ({"stream_format": "chunks"}, "stream_format"),
        ({"input": "a" * 101}, "input"),
        ({"response_format": 3}, "response_format"),
        ({"voice": {"id": 3}}, "voice"),
    ],
)
def test_what_is_wrong_with_a_request_is_a_400_that_names_the_field(
    strict: TestClient, fields: dict[str, Any], param: str
) -> None:
    response = speak(strict, **fields)
    assert response.status_code == 400
    error = read_error(response)
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert error["message"].startswith(f"{param} ") or fields.get("input") == "a" * 101
    check_sentence(error["message"])


def check_sentence(message: str) -> None:
    """Ours, and not what the validator says."""
    assert message.endswith(".")
    for word in ("Value error", "Input", "should", "pydantic", "parse", "extract", "dictionary"):
        assert word not in message


def test_a_body_that_is_no_json_is_a_400(strict: TestClient) -> None:
    for content in (b"", b"{", b"[]", b"\xff"):
        response = strict.post("/v1/audio/speech", content=content, headers={"content-type": "application/json"})
        assert response.status_code == 400
        message = read_error(response)["message"]
        assert message.startswith("The body ") or content == b"\xff"


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/audio/speech", "/openai/v1/audio/speech", "/openai/v1/models"),
        *("/audio/speech", "/models", "//v1/audio/speech", "/v1/v1/audio/speech", "/openai/audio/speech"),
    ],
)
def test_errors_of_the_middleware_have_the_same_shape(strict: TestClient, path: str) -> None:
    method = "GET" if path.endswith("models") else "POST"
    for key, code in (("", "missing_api_key"), ("Bearer wrong", "invalid_api_key")):
        url = f"http://testserver{path}"
        response = strict.request(method, url, json={"input": TEXT}, headers={"authorization": key})
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        error = read_error(response)
        assert (error["type"], error["code"]) == ("authentication_error", code)
    compressed = strict.request(method, url, content=b"x", headers={"content-encoding": "gzip"})
    assert compressed.status_code == 415
    assert read_error(compressed)["type"] == "invalid_request_error"
    assert int(compressed.headers["content-length"]) == len(compressed.content)


def test_the_case_of_formats_does_not_matter(client: TestClient) -> None:
    assert speak(client, response_format="PCM").content == speak(client, response_format="pcm").content
    assert speak(client, stream_format="SSE").headers["content-type"].startswith("text/event-stream")


def test_unknown_paths_and_methods_have_the_same_shape(client: TestClient) -> None:
    assert read_error(client.get("/openai/v1/chat/completions"))["type"] == "invalid_request_error"
    assert read_error(client.post("/v1/audio/transcriptions"))["type"] == "invalid_request_error"
    assert client.get("/v1/audio/speech").status_code == 405
    read_error(client.get("/v1/audio/speech"))


def test_a_server_that_is_busy_says_when_to_come_back(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(max_characters_per_minute=40, queue_seconds=0, data_dir=tmp_path)
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        assert speak(client).status_code == 200
        refused = speak(client)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert read_error(refused)["type"] == "rate_limit_error"
        client.app.state.lifecycle.drain()  # type: ignore[attr-defined]
        draining = speak(client)
        assert draining.status_code == 503
        assert draining.headers["retry-after"]
        assert read_error(draining)["type"] == "server_error"


def test_a_loading_or_failing_engine_is_told_in_the_same_shape(phonemizer: Phonemizer, tmp_path: Path) -> None:
    from svc.app import create_app

    class Late(FakeEngine):
        def load(self) -> None:
            raise OSError("no weights")

    app = create_app(Settings(data_dir=tmp_path), Pipeline(Late(), phonemizer))
    with TestClient(app) as client:
        response = speak(client)
        assert response.status_code == 503
        assert read_error(response)["code"] in ("model_loading", "engine_unavailable")


@pytest.mark.parametrize("prefix", ["/v1", "/openai/v1"])
def test_the_log_and_the_metrics_name_the_whole_path(
    client: TestClient, caplog: pytest.LogCaptureFixture, prefix: str
) -> None:
    with caplog.at_level(logging.INFO, "svc.api.middleware.request_log"):
        assert speak(client, prefix).status_code == 200
    assert f"POST {prefix}/audio/speech 200" in caplog.messages
    label = f'svc_requests_total{{method="POST",route="{prefix}/audio/speech",status="200"}}'
    assert label in client.get("/metrics").text
