"""HEAD on every path that has GET; and JSON that is compressed, unlike audio and streams."""

import json
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

VALUES = {"voice_id": "af_heart", "model_id": "tts-1", "item_id": "x", "dictionary_id": "x", "version_id": "x"}
OF_EACH_ANSWER = {"request-id", "x-request-id", "x-trace-id"}


def list_get_paths(client: TestClient) -> Iterator[str]:
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        if "get" in operations:
            yield re.sub("{([^}:]+)[^}]*}", lambda name: VALUES[name[1]], path)


def test_head_is_answered_as_get_is_everywhere(client: TestClient) -> None:
    paths = [
        *list_get_paths(client),
        "/",
        "/docs",
        "/openapi.json",
        "/page/main.js",
        "/v1/nothing",
        "/v1/tokens/ephemeral",
    ]
    assert "/v2/voices" in paths
    for path in paths:
        if path == "/metrics":  # which counts the request itself
            continue
        got, asked = client.get(path), client.head(path, headers={"range": "bytes=0-1"})
        assert (asked.status_code, asked.content) == (got.status_code, b""), path
        assert {*asked.headers.items()} ^ {*got.headers.items()} <= {
            (name, each.headers[name]) for name in OF_EACH_ANSWER for each in (got, asked)
        }, path


def test_head_needs_the_credential_of_get(phonemizer: Phonemizer) -> None:
    with TestClient(create_app(Settings(api_key="secret"), Pipeline(FakeEngine(), phonemizer))) as keyed:
        for path in list_get_paths(keyed):
            assert keyed.head(path).status_code == keyed.get(path).status_code, path
            if path.startswith(("/v1", "/v2", "/openai")):
                assert keyed.head(path).status_code == 401, path


@pytest.mark.parametrize("path", ["/v1/voices", "/v2/voices?page_size=100", "/openapi.json", "/v1/models"])
def test_json_is_compressed(client: TestClient, path: str) -> None:
    plain = client.get(path, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for accepted in ("gzip", "gzip, deflate, br, zstd", "br;q=1, gzip;q=0.1"):
        response = client.get(path, headers={"accept-encoding": accepted})
        assert response.headers["content-encoding"] == "gzip"
        assert int(response.headers["content-length"]) < len(plain.content) / 2
        assert response.json() == plain.json()
        assert "accept-encoding" in response.headers["vary"].lower()
    refused = client.get(path, headers={"accept-encoding": "br, gzip; q=0.0"})
    assert refused.content == plain.content
    assert "accept-encoding" in refused.headers["vary"].lower()


@pytest.mark.parametrize("path", ["", "/stream", "/with-timestamps", "/stream/with-timestamps"])
def test_speech_is_not(client: TestClient, path: str) -> None:
    body = {"text": "Good morning! " * 20}
    response = client.post(f"/v1/text-to-speech/af_heart{path}", json=body, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in response.headers
    assert len(response.content) > 10_000
    if "timestamps" in path:
        assert json.loads(response.text.splitlines()[0])["audio_base64"]


@pytest.mark.parametrize("path", ["/previews/af_heart.mp3", "/page/main.js", "/docs"])
def test_what_is_no_json_is_not(client: TestClient, path: str) -> None:
    assert "content-encoding" not in client.get(path, headers={"accept-encoding": "gzip"}).headers
