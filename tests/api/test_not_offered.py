"""What does not exist is 404 by every method, and sockets get it in the handshake."""

import pytest
from fastapi.testclient import TestClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.api.realtime.conftest import Running, service  # noqa: F401

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize(
    ("path", "feature"),
    [
        ("/v1/voices/accents", "a list of accents"),
        ("/v1/voices/collections", "voice collections"),
        ("/v1/voices/collections/x/voice/y", "voice collections"),
        ("/v1/voices/pvc", "professional voice cloning"),
        ("/v1/voices/pvc/x", "professional voice cloning"),
        ("/v1/voices/pvc/edit", "professional voice cloning"),
        ("/v1/voices/pvc/settings", "professional voice cloning"),
        ("/v1/voices/pvc/x/samples/y/audio", "professional voice cloning"),
        ("/v1/voices/add/someone/x", "the public voice library"),
        ("/v1/voices/x/samples/y/audio", "the recordings of a voice"),
        ("/v1/history/download", "a history"),
        ("/v1/shared-voices", "the public voice library"),
        ("/v1/speech-to-text", "speech recognition"),
        ("/v1/speech-to-speech/x/stream", "the voice changer"),
        ("/v1/convai/agents/create", "conversational agents"),
        ("/v1/music", "music"),
    ],
)
def test_what_is_not_offered_says_so(client: TestClient, path: str, feature: str) -> None:
    for method in METHODS:
        response = client.request(method, path)
        detail = response.json()["detail"]
        assert (response.status_code, detail["status"], detail["type"]) == (404, "not_offered", "not_found")
        assert feature in detail["message"]


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/voicesx", "/v1/history/a/b/c", "/v1/voices/a/b/c", "/v3"])
def test_unknown_paths(client: TestClient, path: str) -> None:
    for method in METHODS:
        response = client.request(method, path, json={})
        assert (response.status_code, response.json()["detail"]["status"]) == (404, "not_found"), method


@pytest.mark.parametrize(
    ("method", "path", "meant"),
    [
        ("GET", "/v1/voices/", "/v1/voices"),
        ("POST", "/v1/text-to-speech/x/", "/v1/text-to-speech/x"),
        ("GET", "//v1/voices", "/v1/voices"),
        ("POST", "/v1//text-to-speech///x/stream", "/v1/text-to-speech/x/stream"),
        ("GET", "/v1/v1/voices", "/v1/voices"),
        ("GET", "/v1/v2/voices", "/v1/voices"),
        ("POST", "/v1/v1/text-to-speech/x/stream", "/v1/text-to-speech/x/stream"),
        ("POST", "/text-to-speech/x", "/v1/text-to-speech/x"),
        ("GET", "/v2/models", "/v1/models"),
        ("GET", "/v1/health", "/health"),
        ("POST", "/audio/speech", "/openai/v1/audio/speech"),
        ("POST", "//audio/speech", "/openai/v1/audio/speech"),
        ("POST", "/v1/v1/audio/speech", "/openai/v1/audio/speech"),
        ("POST", "/v1/audio/speech/", "/v1/audio/speech"),
        ("POST", "/openai/audio/speech", "/openai/v1/audio/speech"),
        ("POST", "/v1/openai/v1/audio/speech", "/openai/v1/audio/speech"),
        ("GET", "/models", "/openai/v1/models"),
        ("GET", "/models/tts-1", "/openai/v1/models/tts-1"),
        ("GET", "/openai/v1/v1/models", "/openai/v1/models"),
    ],
)
def test_paths_of_a_wrong_base_url_are_told_the_right_one(
    client: TestClient, method: str, path: str, meant: str
) -> None:
    response = client.request(method, f"http://testserver{path}", json={}, follow_redirects=False)
    assert response.status_code == 404
    body = response.json()
    openai = meant.startswith("/openai") or "/audio" in meant
    message = body["error"]["message"] if openai else body["detail"]["message"]
    assert f"Did you mean {meant}?" in message
    assert client.request(method, meant, json={}).status_code != 404


@pytest.mark.parametrize("path", ["//v1/music", "/v1/text-to-speech/", "///", "/v1/v1", "/" * 5000])
def test_no_path_is_proposed_that_does_not_exist_either(client: TestClient, path: str) -> None:
    response = client.get(f"http://testserver{path}")
    assert response.status_code == 404
    assert "Did you mean" not in response.json()["detail"]["message"]


def test_history_items(client: TestClient) -> None:
    for method in METHODS:
        response = client.request(method, "/v1/history/fDdmYzVtNzIWzyTlzYEe")
        assert (response.status_code, response.json()["detail"]["status"]) == (404, "history_item_not_found")


def test_what_is_below_voices_is_not_a_voice(client: TestClient) -> None:
    for name in ("add", "settings"):
        response = client.get(f"/v1/voices/{name}")
        assert (response.status_code, response.json()["detail"]["status"]) == (404, "not_found")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/nothing", "not_found"),
        ("/", "not_found"),
        ("/v1/voices", "not_found"),
        ("/v1/text-to-speech/x", "not_found"),
        ("/v1/speech-to-text/realtime", "not_offered"),
        ("/v1/v1/text-to-speech/x/stream-input", "not_found"),
    ],
)
def test_sockets_on_unknown_paths(service: Running, path: str, status: str) -> None:  # noqa: F811
    with pytest.raises(InvalidStatus) as refusal, connect(service.address.replace("http", "ws", 1) + path):
        pass
    assert refusal.value.response.status_code == 404
    assert f'"status":"{status}"' in refusal.value.response.body.decode()
    assert ("Did you mean" in refusal.value.response.body.decode()) == path.startswith("/v1/v1/")
