"""Who is let in where: every row of the authentication tables, over HTTP."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from fastapi import WebSocket
from fastapi.testclient import TestClient
from starlette.requests import HTTPConnection

from svc.api.authentication import read_handshake_credential, read_header_credential, read_message_credential
from svc.app import create_app
from svc.auth.keys import Kind, Scope, generate_credential
from svc.auth.table import KeysTable
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.auth.clock import Clock

SPEECH = "/v1/text-to-speech/af_heart?output_format=pcm_8000"
PUBLIC = ["/health", "/readyz", "/openapi.json", "/docs", "/docs/interactive", "/docs/quickstart"]
PROTECTED = [
    ("POST", SPEECH),
    ("POST", "/v1/text-to-speech/af_heart/stream"),
    ("POST", "/v1/text-to-speech/af_heart/with-timestamps"),
    ("POST", "/v1/text-to-speech/af_heart/stream/with-timestamps"),
    ("GET", "/v1/voices"),
    ("GET", "/v2/voices"),
    ("GET", "/v1/voices/af_heart"),
    ("GET", "/v1/voices/settings/default"),
    ("GET", "/v1/voices/af_heart/settings"),
    ("POST", "/v1/voices/af_heart/settings/edit"),
    ("POST", "/v1/voices/add"),
    ("POST", "/v1/voices/custom-1/edit"),
    ("DELETE", "/v1/voices/custom-1"),
    ("POST", "/voices"),
    ("DELETE", "/voices/custom-1"),
    ("POST", "/v1/tokens/ephemeral"),
    ("POST", "/v1/single-use-token/tts_websocket"),
    ("GET", "/metrics"),
    ("GET", "/v1/models"),
    ("GET", "/v1/user"),
    ("GET", "/v1/user/subscription"),
    ("GET", "/v1/history"),
    ("GET", "/v1/no/such/path"),
    ("GET", "/no/such/path"),
    ("PATCH", "/v1/voices"),
    ("GET", "//v1/voices"),
    ("GET", "/health/%2e%2e/v1/voices"),
]
ALLOWED_TO_TOKENS = [
    ("POST", SPEECH),
    ("POST", "/v1/text-to-speech/af_heart/stream"),
    ("POST", "/v1/text-to-speech/af_heart/with-timestamps"),
    ("POST", "/v1/text-to-speech/af_heart/stream/with-timestamps"),
    ("GET", "/v1/voices"),
    ("GET", "/v1/voices/af_heart"),
    ("GET", "/v1/voices/settings/default"),
    ("GET", "/v1/voices/af_heart/settings"),
]
FORBIDDEN_TO_TOKENS = [each for each in PROTECTED if each not in ALLOWED_TO_TOKENS]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def static(phonemizer: Phonemizer) -> Iterator[TestClient]:
    """A service with static keys alone."""
    settings = Settings.model_validate({"api_key": "key-one", "api_keys": "key-two, key-dreißig"})
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as client:
        yield client


@pytest.fixture
def table_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/keys.db"


@pytest.fixture
def shared(table_url: str, phonemizer: Phonemizer, clock: Clock) -> Iterator[TestClient]:
    """A service with a keys table alone."""
    settings = Settings.model_validate({"api_keys_table": table_url})
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer), clock)) as client:
        yield client


@pytest.fixture
def new_key(table_url: str, clock: Clock) -> Callable[..., str]:
    """Makes a key as another process would."""

    def new_key(kind: Kind = Kind.KEY, scope: Scope = Scope.FULL, expires_at: int | None = None) -> str:
        async def create() -> str:
            table = KeysTable(table_url)
            key, _ = await table.create(clock(), name="Ann", kind=kind, scopes=[scope], expires_at=expires_at)
            await table.close()
            return key

        return asyncio.run(create())

    return new_key


def _get_refusal(client: TestClient, method: str, path: str, headers: Mapping[str, str | bytes]) -> str:
    """The `status` of a 401 in its one shape."""
    response = client.request(method, path, headers=headers)  # type: ignore[arg-type]
    assert response.status_code == 401, (method, path, response.text)
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["request-id"]
    body = response.json()
    assert set(body) == {"detail"}
    assert set(body["detail"]) == {"status", "message", "type", "code", "request_id", "param"}
    assert isinstance(body["detail"]["message"], str)
    status = body["detail"]["status"]
    assert isinstance(status, str)
    return status


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_no_key(static: TestClient, method: str, path: str) -> None:
    for headers in (
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
        {"authorization": "Basic key-one"},
        {"xi-api-key": " "},
    ):
        assert _get_refusal(static, method, path, headers) == "missing_api_key"


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_wrong_key(static: TestClient, method: str, path: str) -> None:
    for wrong in (
        "key-on",
        "key-one,key-two",
        "x" * 20_000,
        generate_credential(Kind.KEY),
        generate_credential(Kind.EPHEMERAL),
    ):
        assert _get_refusal(static, method, path, {"xi-api-key": wrong}) == "invalid_api_key"
        assert _get_refusal(static, method, path, {"authorization": f"Bearer {wrong}"}) == "invalid_api_key"
    assert _get_refusal(static, method, path, {"xi-api-key": b"\xff\xfe\x80"}) == "invalid_api_key"
    for without_scheme in ("key-one", "Bearerkey-one"):
        assert _get_refusal(static, method, path, {"authorization": without_scheme}) == "invalid_api_key"


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-one"},
        {"authorization": "bearer key-two"},
        {"authorization": "BEARER   key-one "},
        {"xi-api-key": "key-one"},
        {"XI-API-KEY": "key-two"},
        {"authorization": "Basic abc", "xi-api-key": "key-one"},
        {"authorization": "Bearer ", "xi-api-key": "key-one"},
        {"xi-api-key": "key-dreißig".encode()},
        {"authorization": "Bearer key-one", "xi-api-key": ""},
    ],
)
def test_every_way_to_send_a_key(static: TestClient, headers: Mapping[str, str]) -> None:
    assert static.get("/v1/voices/settings/default", headers=headers).status_code == 200
    assert static.post(SPEECH, json={}, headers=headers).status_code == 422


def test_public_pages_need_no_key(static: TestClient, shared: TestClient) -> None:
    for client in (static, shared):
        for path in PUBLIC:
            assert client.get(path).status_code != 401
            assert client.get(path, headers={"xi-api-key": "wrong"}).status_code != 401


def test_the_description_says_how_to_send_a_key(static: TestClient, client: TestClient) -> None:
    paths = static.get("/openapi.json").json()["paths"]
    assert paths["/v1/tokens/ephemeral"]["post"]["security"] == [{"bearer": []}, {"xi-api-key": []}]
    assert paths["/health"]["get"]["security"] == []
    assert "securitySchemes" not in client.get("/openapi.json").json()["components"]


def test_the_key_is_judged_before_the_body(static: TestClient) -> None:
    json = {"content-type": "application/json"}
    for body in (b"{", b"", b'{"text": 5}', b"x" * 100_000):
        assert static.post(SPEECH, content=body, headers=json).json()["detail"]["status"] == "missing_api_key"


def test_browsers_may_ask_whether_they_may_ask(static: TestClient) -> None:
    preflight = {
        "origin": "https://example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "xi-api-key,content-type",
    }
    assert static.options(SPEECH, headers=preflight).status_code != 401
    assert static.options(SPEECH).status_code in (404, 405)


def test_open_without_any_key(client: TestClient) -> None:
    for headers in ({}, {"xi-api-key": "whatever"}, {"authorization": "Bearer whatever"}):
        assert client.post(SPEECH, json={"text": "Hello."}, headers=headers).status_code == 200


def test_a_key_of_the_table(shared: TestClient, new_key: Callable[..., str], clock: Clock) -> None:
    assert _get_refusal(shared, "GET", "/v1/voices", {}) == "missing_api_key"
    assert _get_refusal(shared, "GET", "/v1/voices", {"xi-api-key": generate_credential(Kind.KEY)}) == "invalid_api_key"
    headers = {"xi-api-key": new_key(expires_at=int(clock()) + 3)}
    for method, path in PROTECTED:
        assert shared.request(method, path, headers=headers).status_code != 401, (method, path)
    clock.now = int(clock()) + 3
    assert _get_refusal(shared, "GET", "/v1/voices", headers) == "invalid_api_key"


@pytest.mark.parametrize("kind", [Kind.EPHEMERAL, Kind.KEY])
def test_what_may_only_speak(shared: TestClient, new_key: Callable[..., str], kind: Kind) -> None:
    headers = {"authorization": f"Bearer {new_key(kind, Scope.TTS)}"}
    for method, path in ALLOWED_TO_TOKENS:
        assert shared.request(method, path, headers=headers).status_code != 401, (method, path)
    for method, path in FORBIDDEN_TO_TOKENS:
        assert _get_refusal(shared, method, path, headers) == "insufficient_scope"


@pytest.mark.parametrize("path", ["/v1/voices/%2e%2e/models", "/v1/text-to-speech/%2e%2e/models"])
def test_no_way_around_by_the_path(shared: TestClient, new_key: Callable[..., str], path: str) -> None:
    headers = {"xi-api-key": new_key(Kind.EPHEMERAL, Scope.TTS)}
    assert shared.get(path, headers=headers).status_code in (404, 405)
    assert shared.get(f"/previews/%2e%2e{path}").status_code in (404, 405)


def test_a_single_use_token_is_for_a_socket_alone(shared: TestClient, new_key: Callable[..., str]) -> None:
    headers = {"xi-api-key": new_key(Kind.SINGLE_USE, Scope.TTS_WEBSOCKET)}
    for method, path in PROTECTED:
        assert _get_refusal(shared, method, path, headers) == "insufficient_scope"


def test_keys_that_cannot_be_checked(phonemizer: Phonemizer) -> None:
    settings = Settings.model_validate({"api_key": "key-one", "api_keys_table": "postgresql://u:hidden@127.0.0.1:1/d"})
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as client:
        response = client.get("/v1/voices", headers={"xi-api-key": generate_credential(Kind.KEY)})
        assert response.status_code == 503
        assert response.json()["detail"]["status"] == "keys_unavailable"
        assert int(response.headers["retry-after"]) > 0
        assert "hidden" not in response.text
        assert "127.0.0.1" not in response.text
        assert client.get("/v1/voices", headers={"xi-api-key": "key-one"}).status_code == 200
        assert _get_refusal(client, "GET", "/v1/voices", {}) == "missing_api_key"
        assert client.get("/openapi.json").status_code == 200


def test_keys_are_in_no_answer_and_no_log(
    shared: TestClient, static: TestClient, new_key: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, wrong = new_key(), generate_credential(Kind.KEY)
    for client, credential in ((shared, key), (shared, wrong), (static, "key-one"), (static, "key-guess")):
        for method, path in PROTECTED:
            response = client.request(method, path, headers={"authorization": f"Bearer {credential}"})
            assert credential not in response.text
            assert credential not in str(response.headers)
    assert all(credential not in caplog.text for credential in (key, wrong, "key-one", "key-guess"))


def _connection(headers: Mapping[str, str] | None = None, query: str = "") -> HTTPConnection:
    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return HTTPConnection({"type": "websocket", "headers": raw, "query_string": query.encode()})


@pytest.mark.parametrize(
    ("headers", "query", "credential"),
    [
        ({}, "", None),
        ({"xi-api-key": "k"}, "", "k"),
        ({"Authorization": "Bearer k"}, "", "k"),
        ({"xi-api-key": "k"}, "authorization=Bearer%20q", "k"),
        ({}, "authorization=Bearer%20q", "q"),
        ({}, "authorization=bearer+q", "q"),
        ({}, "authorization=q", "q"),
        ({}, "authorization=Bearer", None),
        ({}, "single_use_token=t", "t"),
        ({}, "authorization=&single_use_token=t", "t"),
        ({}, "token=t", None),
    ],
)
def test_credentials_of_a_handshake(headers: dict[str, str], query: str, credential: str | None) -> None:
    assert read_handshake_credential(_connection(headers, query)) == credential


def test_http_takes_no_credential_from_the_address() -> None:
    assert read_header_credential(_connection(query="authorization=Bearer%20q&single_use_token=t")) is None


@pytest.mark.parametrize(
    ("message", "credential"),
    [
        ({}, None),
        ({"text": " "}, None),
        ({"authorization": "Bearer k"}, "k"),
        ({"authorization": "k"}, "k"),
        ({"xi_api_key": "k"}, "k"),
        ({"xi-api-key": "k"}, "k"),
        ({"authorization": None, "xi_api_key": "k"}, "k"),
        ({"authorization": 5, "xi_api_key": ["k"], "xi-api-key": {}}, None),
        ({"authorization": "Bearer "}, None),
    ],
)
def test_credentials_of_a_first_message(message: dict[str, object], credential: str | None) -> None:
    assert read_message_credential(message) == credential


def test_sockets_pass_and_judge_for_themselves(phonemizer: Phonemizer) -> None:
    app = create_app(Settings.model_validate({"api_key": "key-one"}), Pipeline(FakeEngine(), phonemizer))

    @app.websocket("/v1/echo")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(read_handshake_credential(socket) or "nothing")
        await socket.close()

    with TestClient(app) as client, client.websocket_connect("/v1/echo?authorization=Bearer%20k") as socket:
        assert socket.receive_text() == "k"
