"""One line for each request, with what an operator needs and nothing that is private."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from svc.api.middleware.request_log import _describe_voice
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import VOICE, eventually, running
from tests.conftest import serve_ready
from tests.security.wire import LONG, dial, speak

PATH = "/v1/text-to-speech"


@pytest.fixture(scope="module")
def guarded(phonemizer: Phonemizer) -> Iterator[TestClient]:
    with serve_ready(Settings(api_key="the-secret-key"), Pipeline(FakeEngine(), phonemizer)) as client:
        yield client


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "svc.api.middleware.request_log")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    records = [record for record in caplog.records if record.name == "svc.api.middleware.request_log"]
    return [(record.getMessage(), vars(record)["fields"]) for record in records]


@pytest.mark.parametrize("kind", ["", "/stream"])
def test_speech(guarded: TestClient, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    key = {"xi-api-key": "the-secret-key"}
    answer = guarded.post(f"{PATH}/af_heart{kind}?x=private", json={"text": "Hello."}, headers=key)
    ((message, fields),) = lines(caplog)
    assert message == f"POST {PATH}/{{voice_id}}{kind} 200"
    assert fields["request_id"] == answer.headers["request-id"]
    assert fields["bytes"] == len(answer.content)
    assert fields["seconds"] >= fields["first_byte_seconds"] > 0
    assert (fields["characters"], fields["voice"], fields["aborted"]) == (6, answer.headers["x-svc-voice"], False)
    assert fields["key"]
    assert not any(private in str(fields) for private in ("secret", "Hello", "private"))


def test_dialogue(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    inputs = [{"text": "Hello.", "voice_id": voice} for voice in ("af_heart", "bm_george", "af_heart")]
    answer = guarded.post("/v1/text-to-dialogue", json={"inputs": inputs}, headers={"xi-api-key": "the-secret-key"})
    ((message, fields),) = lines(caplog)
    assert message == "POST /v1/text-to-dialogue 200"
    assert (fields["characters"], fields["voice"]) == (18, answer.headers["x-svc-voice"])


def test_custom_voices_of_a_dialogue_are_not_named() -> None:
    assert _describe_voice("svcAfHeart0000000000, custom-a, custom-b") == "svcAfHeart0000000000, custom"


def test_refusals_and_unknown_paths(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    guarded.get("/v1/voices/My%20Clone%0AINFO: forged")
    guarded.get("/nothing/My%20Clone", headers={"xi-api-key": "the-secret-key"})
    guarded.get("/page/main.js")
    messages = [message for message, _ in lines(caplog)]
    assert messages == ["GET /v1/voices/{voice_id} 401", "GET unmatched 404", "GET /page/* 200"]
    assert "Clone" not in str(lines(caplog))


def test_questions_of_machines_are_quiet(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    for path in ("/health", "/readyz", "/metrics"):
        client.get(path)
    assert {record.levelname for record in caplog.records if record.name == "svc.api.middleware.request_log"} == {
        "DEBUG"
    }


def test_a_language_that_is_not_spoken(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    for code in ("sw", "es"):
        body = {"text": "Hello.", "language_code": code}
        guarded.post(f"{PATH}/af_heart", json=body, headers={"xi-api-key": "the-secret-key"})
    languages = [fields["language"] for _, fields in lines(caplog)]
    assert languages == ["auto; requested=sw; reason=not_spoken", "es"]


@pytest.mark.slow
def test_sockets(phonemizer: Phonemizer, caplog: pytest.LogCaptureFixture) -> None:
    with running(phonemizer) as service:
        with service.open("stream-input", authorization="private", language_code="tlh") as caller:
            caller.send({"text": "Hello."}, {"text": ""}).rest()
        eventually(lambda: any("WEBSOCKET" in message for message, _ in lines(caplog)))
    ((message, fields),) = (line for line in lines(caplog) if "WEBSOCKET" in line[0])
    assert message == f"WEBSOCKET {PATH}/{{voice_id}}/stream-input 101"
    assert (fields["close_code"], fields["key"], fields["aborted"]) == (1000, "anyone", False)
    assert (fields["characters"], fields["voice"]) == (len("Hello."), VOICE)
    assert fields["language"] == "auto; requested=tlh; reason=unknown"
    assert fields["bytes"] > 1000
    assert not any(private in str(fields) for private in ("Hello", "private"))


@pytest.mark.slow
def test_a_client_that_hangs_up(phonemizer: Phonemizer, caplog: pytest.LogCaptureFixture) -> None:
    with running(phonemizer) as service:
        with dial(service.address, small=True) as connection:
            connection.sendall(speak(LONG))
            assert connection.recv(12) == b"HTTP/1.1 200"
        eventually(lambda: any("/stream" in message for message, _ in lines(caplog)))
    ((_, fields),) = (line for line in lines(caplog) if "/stream" in line[0])
    assert (fields["status"], fields["aborted"]) == (200, True)
