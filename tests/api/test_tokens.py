"""`POST /v1/tokens/ephemeral` and `POST /v1/single-use-token/{token_type}`."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.auth.keys import Scope
from svc.auth.table import KeysTable
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.auth.clock import Clock

EPHEMERAL = "/v1/tokens/ephemeral"
SINGLE_USE = "/v1/single-use-token/tts_websocket"
FULL = {"authorization": "Bearer static-key"}
JSON = {**FULL, "content-type": "application/json"}
NOW = 1_800_000_000


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW + 0.5)


@pytest.fixture
def replicas(tmp_path: Path, phonemizer: Phonemizer, clock: Clock) -> Iterator[list[TestClient]]:
    """Two services that share a keys table and a static key."""
    settings = Settings.model_validate({"api_key": "static-key", "api_keys_table": f"sqlite:///{tmp_path}/keys.db"})
    with ExitStack() as stack:
        apps = [create_app(settings, Pipeline(FakeEngine(), phonemizer), clock) for _ in range(2)]
        yield [stack.enter_context(TestClient(app)) for app in apps]


@pytest.fixture
def service(replicas: list[TestClient]) -> TestClient:
    return replicas[0]


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (b"", 300),
        (b"null", 300),
        (b"{}", 300),
        (b'{"ttl_seconds": null}', 300),
        (b'{"ttl_seconds": 30}', 30),
        (b'{"ttl_seconds": 600}', 600),
        (b'{"ttl_seconds": 77, "scope": "everything", "unknown": [1]}', 77),
        (b'{"ttl_seconds": 29}', 30),
        (b'{"ttl_seconds": 0}', 30),
        (b'{"ttl_seconds": -5}', 30),
        (b'{"ttl_seconds": 601}', 600),
        (b'{"ttl_seconds": 99999999999999999999999999}', 600),
        (b'{"ttl_seconds": 60.0}', 60),
    ],
)
def test_time_to_live(service: TestClient, body: bytes, seconds: int) -> None:
    response = service.post(EPHEMERAL, content=body, headers=JSON)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert set(answer) == {"token", "expires_at", "scope"}
    assert answer["token"].startswith("svc_tmp_")
    assert answer["scope"] == "tts"
    assert answer["expires_at"] == NOW + seconds
    assert isinstance(answer["expires_at"], int)
    assert response.headers["cache-control"] == "no-store"


def test_without_any_body(service: TestClient) -> None:
    assert service.post(EPHEMERAL, headers=FULL).json()["expires_at"] == NOW + 300


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'{"ttl_seconds": true}',
        b'{"ttl_seconds": false}',
        b'{"ttl_seconds": "soon"}',
        b'{"ttl_seconds": [1]}',
        b"{",
        b'"x"',
    ],
)
def test_bodies_that_do_not_fit(service: TestClient, body: bytes) -> None:
    response = service.post(EPHEMERAL, content=body, headers=JSON)
    assert response.status_code == 422
    assert all({"loc", "msg", "type"} == set(each) for each in response.json()["detail"])


def test_bodies_of_tokens_are_smaller(service: TestClient) -> None:
    """As large as the longest text can be in JSON."""
    token = {"xi-api-key": service.post(EPHEMERAL, headers=FULL).json()["token"]}
    longest = json.dumps({"text": "\N{FACE WITH TEARS OF JOY}" * Settings().max_characters})
    larger = json.dumps({"text": "Hi.", "unknown": "x" * 600_000})
    path = "/v1/text-to-speech/af_heart?output_format=none"
    for content, headers, status in ((longest, token, 400), (larger, token, 413), (larger, FULL, 400)):
        response = service.post(path, content=content, headers={**headers, "content-type": "application/json"})
        assert response.status_code == status, response.text


@pytest.mark.parametrize("header", ["authorization", "xi-api-key"])
def test_a_token_works_on_every_replica_until_it_expires(replicas: list[TestClient], clock: Clock, header: str) -> None:
    minted = replicas[0].post(EPHEMERAL, json={"ttl_seconds": 30}, headers=FULL).json()
    value = minted["token"] if header == "xi-api-key" else f"Bearer {minted['token']}"
    for moment in (clock.now, minted["expires_at"] - 0.01):
        clock.now = moment
        for service in replicas:
            assert service.get("/v1/voices/settings/default", headers={header: value}).status_code == 200
    clock.now = minted["expires_at"]
    for service in replicas:
        response = service.get("/v1/voices/settings/default", headers={header: value})
        assert (response.status_code, response.json()["detail"]["status"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("path", [EPHEMERAL, SINGLE_USE])
def test_a_token_cannot_make_tokens(service: TestClient, path: str) -> None:
    for minted in (EPHEMERAL, SINGLE_USE):
        token = service.post(minted, headers=FULL).json()["token"]
        response = service.post(path, headers={"authorization": f"Bearer {token}"})
        assert (response.status_code, response.json()["detail"]["status"]) == (401, "insufficient_scope")


def test_who_may_make_tokens_with_keys_of_the_table(service: TestClient, tmp_path: Path, clock: Clock) -> None:
    async def create(scope: Scope) -> str:
        table = KeysTable(f"sqlite:///{tmp_path}/keys.db")
        key, _ = await table.create(clock(), name="Ann", scopes=[scope])
        await table.close()
        return key

    full, limited = (asyncio.run(create(scope)) for scope in (Scope.FULL, Scope.TTS))
    assert service.post(EPHEMERAL, headers={"xi-api-key": full}).status_code == 200
    assert _status(service.post(EPHEMERAL, headers={"xi-api-key": limited})) == (401, "insufficient_scope")
    assert _status(service.post(EPHEMERAL, headers={"xi-api-key": "wrong"})) == (401, "invalid_api_key")
    assert _status(service.post(EPHEMERAL)) == (401, "missing_api_key")


def test_single_use_token(service: TestClient) -> None:
    response = service.post(SINGLE_USE, headers=FULL)
    assert response.status_code == 200
    assert set(response.json()) == {"token"}
    assert response.json()["token"].startswith("svc_once_")
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("kind", ["realtime_scribe", "batch_scribe", "tts", "x" * 500])
def test_token_types_that_there_are_not(service: TestClient, kind: str) -> None:
    response = service.post(f"/v1/single-use-token/{kind}", headers=FULL)
    assert _status(response) == (400, "unknown_token_type")
    assert "tts_websocket" in response.json()["detail"]["message"]


def test_an_open_server_gives_tokens_for_sockets_to_clients_that_will_not_do_without(client: TestClient) -> None:
    assert _status(client.post(EPHEMERAL)) == (501, "not_supported")
    response = client.post(SINGLE_USE)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    token = response.json()["token"]
    assert token.startswith("svc_once_")
    assert token != client.post(SINGLE_USE).json()["token"]


@pytest.mark.parametrize("path", [EPHEMERAL, SINGLE_USE])
def test_with_static_keys_alone_there_are_no_tokens(phonemizer: Phonemizer, path: str) -> None:
    settings = Settings.model_validate({"api_key": "static-key"})
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as static:
        assert _status(static.post(path, headers=FULL)) == (501, "not_supported")
        assert _status(static.post(path)) == (401, "missing_api_key")


def _status(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["status"]
