"""A token reaches the paths that are listed here, and no other path of the service."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

FULL = {"xi-api-key": "static-key"}
EPHEMERAL = "/v1/tokens/ephemeral"
SINGLE_USE = "/v1/single-use-token/tts_websocket"

# Open to everyone, with or without a credential.
PUBLIC = {
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("HEAD", "/openapi.json"),
    ("GET", "/previews/{voice_id}.mp3"),
    ("GET", "/docs"),
    ("GET", "/docs/interactive"),
    ("GET", "/docs/{name:path}"),
}
PUBLIC_FOLDERS = {"/page", "/docs/assets"}

# What a token of a browser may call: synthesis, and reading the voices.
SPEECH = {
    ("POST", "/v1/text-to-speech/{voice_id}"),
    ("POST", "/v1/text-to-speech/{voice_id}/with-timestamps"),
    ("POST", "/v1/text-to-speech/{voice_id}/stream"),
    ("POST", "/v1/text-to-speech/{voice_id}/stream/with-timestamps"),
    ("POST", "/v1/text-to-dialogue"),
    ("POST", "/v1/text-to-dialogue/with-timestamps"),
    ("POST", "/v1/text-to-dialogue/stream"),
    ("POST", "/v1/text-to-dialogue/stream/with-timestamps"),
    ("GET", "/v1/voices"),
    ("GET", "/v1/voices/settings/default"),
    ("GET", "/v1/voices/{voice_id}"),
    ("GET", "/v1/voices/{voice_id}/settings"),
    *(
        (method, f"{prefix}/audio/{path}")
        for prefix in ("/v1", "/openai/v1")
        for method, path in (("POST", "speech"), ("GET", "voices"), ("GET", "models"))
    ),
}
SOCKETS = {
    "/v1/text-to-speech/{voice_id}/stream-input",
    "/v1/text-to-speech/{voice_id}/multi-stream-input",
    "/v1/text-to-dialogue/stream-input",
    "/v1/text-to-dialogue/multi-stream-input",
}


@pytest.fixture
def service(tmp_path: Path, phonemizer: Phonemizer) -> Iterator[TestClient]:
    settings = Settings.model_validate({"api_key": "static-key", "api_keys_table": f"sqlite:///{tmp_path}/keys.db"})
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as client:
        yield client


def list_paths(service: TestClient) -> set[tuple[str, str]]:
    """All methods and paths, without the folders of static files and the sockets, which have no methods."""
    routes = iter_route_contexts(service.app.routes)  # type: ignore[attr-defined]
    return {(method, str(route.path)) for route in routes for method in route.methods or ()}


def test_sockets_and_folders_are_known(service: TestClient) -> None:
    """Whoever adds one decides here what a token may do with it."""
    routes = iter_route_contexts(service.app.routes)  # type: ignore[attr-defined]
    # The route without a path answers 404 to everyone: what the commercial API offers, and this server does not.
    assert {route.path for route in routes if not route.methods} == SOCKETS | PUBLIC_FOLDERS | {None}
    assert list_paths(service) >= SPEECH | PUBLIC


@pytest.mark.parametrize(("mint", "allowed"), [(EPHEMERAL, SPEECH), (SINGLE_USE, set[tuple[str, str]]())])
def test_tokens_reach_nothing_else(service: TestClient, mint: str, allowed: set[tuple[str, str]]) -> None:
    token = service.post(mint, headers=FULL).json()["token"]
    forbidden = list_paths(service) - PUBLIC - allowed
    assert len(forbidden) > 10
    for method, path in sorted(forbidden):
        # As it is, with a slash, and as a path below: none of them may slip through.
        for address in (path, f"{path}/", f"{path}/more", f"/{path}"):
            address = re.sub(r"{[^}]+}", "af_heart", address)
            for headers in ({"xi-api-key": token}, {"authorization": f"Bearer {token}"}):
                response = service.request(method, f"http://testserver{address}", headers=headers)
                assert response.status_code == 401, (method, address)
                code = response.json().get("detail", response.json().get("error"))["code"]
                assert code == "insufficient_permissions", (method, address)


def test_an_ephemeral_token_reaches_what_it_may(service: TestClient) -> None:
    token = service.post(EPHEMERAL, headers=FULL).json()["token"]
    for method, path in sorted(SPEECH):
        address = path.replace("{voice_id}", "af_heart")
        body = {"text": "Hi.", "input": "Hi.", "inputs": [{"text": "Hi.", "voice_id": "af_heart"}]}
        response = service.request(method, address, headers={"xi-api-key": token}, json=body)
        assert response.status_code in (200, 503), (method, address)  # the engine may still be loading
