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
    ],
)
def test_sockets_on_unknown_paths(service: Running, path: str, status: str) -> None:  # noqa: F811
    with pytest.raises(InvalidStatus) as refusal, connect(service.address.replace("http", "ws", 1) + path):
        pass
    assert refusal.value.response.status_code == 404
    assert f'"status":"{status}"' in refusal.value.response.body.decode()
