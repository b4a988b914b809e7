"""Every route of the service, HTTP and WebSocket, against every kind of credential.

A new route fails `test_the_table_has_every_route` until its row says who may use it.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from svc.auth.keys import Kind, Scope, generate_credential
from svc.auth.table import KeysTable
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import running
from tests.auth.clock import Clock

SECURITY_GUIDE = Path(__file__).parents[2] / "docs/security.md"


class Access(Enum):
    PUBLIC = "everyone, with or without a credential"
    SPEECH = "full keys and ephemeral tokens"
    FULL = "full keys"
    OWNER = "the full key that made what the path names"
    SOCKET = "full keys, ephemeral and single-use tokens"


PUBLIC, SPEECH, FULL, OWNER, SOCKET = Access
FOLDER, WEBSOCKET = "FOLDER", "WEBSOCKET"  # stand for methods, which neither has

DICTIONARY = "/v1/pronunciation-dictionaries/{dictionary_id}"
TABLE: dict[tuple[str, str], Access] = {
    ("GET", "/"): PUBLIC,
    (FOLDER, "/page"): PUBLIC,
    (FOLDER, "/docs/assets"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
    ("GET", "/docs/interactive"): PUBLIC,
    ("GET", "/docs/{name:path}"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("HEAD", "/openapi.json"): PUBLIC,
    ("GET", "/health"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/previews/{voice_id}.mp3"): PUBLIC,
    ("POST", "/v1/text-to-speech/{voice_id}"): SPEECH,
    ("POST", "/v1/text-to-speech/{voice_id}/stream"): SPEECH,
    ("POST", "/v1/text-to-speech/{voice_id}/with-timestamps"): SPEECH,
    ("POST", "/v1/text-to-speech/{voice_id}/stream/with-timestamps"): SPEECH,
    ("POST", "/v1/text-to-dialogue"): SPEECH,
    ("POST", "/v1/text-to-dialogue/stream"): SPEECH,
    ("POST", "/v1/text-to-dialogue/with-timestamps"): SPEECH,
    ("POST", "/v1/text-to-dialogue/stream/with-timestamps"): SPEECH,
    ("POST", "/v1/audio/speech"): SPEECH,
    ("POST", "/openai/v1/audio/speech"): SPEECH,
    ("GET", "/v1/audio/voices"): SPEECH,
    ("GET", "/openai/v1/audio/voices"): SPEECH,
    ("GET", "/v1/voices"): SPEECH,
    ("GET", "/v1/voices/settings/default"): SPEECH,
    ("GET", "/v1/voices/{voice_id}"): SPEECH,
    ("GET", "/v1/voices/{voice_id}/settings"): SPEECH,
    (WEBSOCKET, "/v1/text-to-speech/{voice_id}/stream-input"): SOCKET,
    (WEBSOCKET, "/v1/text-to-speech/{voice_id}/multi-stream-input"): SOCKET,
    (WEBSOCKET, "/v1/text-to-dialogue/stream-input"): SOCKET,
    (WEBSOCKET, "/v1/text-to-dialogue/multi-stream-input"): SOCKET,
    ("GET", "/v2/voices"): FULL,
    ("POST", "/v1/voices/{voice_id}/settings/edit"): FULL,  # which is heard by the key that edits them
    ("POST", "/voices"): FULL,
    ("POST", "/v1/voices/add"): FULL,
    ("POST", "/v1/voices/mix"): FULL,
    ("POST", "/v1/voices/{voice_id}/edit"): OWNER,
    ("DELETE", "/v1/voices/{voice_id}"): OWNER,
    ("DELETE", "/voices/{voice_id}"): OWNER,
    ("GET", "/v1/pronunciation-dictionaries"): FULL,
    ("POST", "/v1/pronunciation-dictionaries/add-from-file"): FULL,
    ("POST", "/v1/pronunciation-dictionaries/add-from-rules"): FULL,
    ("GET", DICTIONARY): FULL,
    ("GET", f"{DICTIONARY}/{{version_id}}/download"): FULL,
    ("POST", f"{DICTIONARY}/set-rules"): OWNER,
    ("POST", f"{DICTIONARY}/add-rules"): OWNER,
    ("POST", f"{DICTIONARY}/remove-rules"): OWNER,
    ("PATCH", DICTIONARY): OWNER,
    ("DELETE", DICTIONARY): OWNER,
    ("GET", "/v1/models"): FULL,
    ("GET", "/v1/audio/models"): FULL,
    ("GET", "/openai/v1/audio/models"): FULL,
    ("GET", "/openai/v1/models"): FULL,
    ("GET", "/openai/v1/models/{model_id:path}"): FULL,
    ("GET", "/v1/user"): FULL,
    ("GET", "/v1/user/subscription"): FULL,
    ("GET", "/v1/user/usage"): FULL,
    ("GET", "/v1/user{rest:path}"): FULL,
    ("GET", "/v1/history"): FULL,
    ("GET", "/v1/history/{item_id}"): FULL,
    ("GET", "/v1/history/{item_id}/audio"): FULL,
    ("DELETE", "/v1/history/{item_id}"): FULL,
    **{(method, "/v1/history/{item_id}"): FULL for method in ("POST", "PUT", "PATCH")},
    ("POST", "/v1/tokens/ephemeral"): FULL,
    ("POST", "/v1/single-use-token/{token_type}"): FULL,
    ("GET", "/metrics"): FULL,
}
# Paths that no route has, or that are named to say that they are not offered.
NOWHERE = [("GET", "/no/such/path"), ("GET", "/v1/no/such/path"), ("POST", "/v1/dubbing"), ("POST", "/v1/audio/other")]
HTTP = [row for row in TABLE if row[0] not in (FOLDER, WEBSOCKET)]
SOCKETS = [path for method, path in TABLE if method == WEBSOCKET]

# Valid for every route that asks for one.
BODY: dict[str, Any] = {
    "text": "Hi.",
    "input": "Hi.",
    "inputs": [{"text": "Hi.", "voice_id": "af_heart"}],
    "name": "New",
    "parts": [{"voice_id": "af_heart"}, {"voice_id": "af_bella"}],
    "rules": [],
    "rule_strings": [],
}
REFUSALS = {
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "insufficient_scope": 401,
    "not_voice_owner": 403,
    "not_pronunciation_dictionary_owner": 403,
}

CREDENTIALS = ["none", "wrong", "wrong token", "full", "other key's", "ephemeral", "single-use"]
CREDENTIALS += ["expired key", "expired ephemeral", "expired single-use", "revoked key", "token of a revoked key"]


def expect(access: Access, credential: str, path: str) -> str:
    """The `status` of the refusal, or `ok`."""
    if access is PUBLIC or credential == "full":
        return "ok"
    if credential == "none":
        return "missing_api_key"
    if credential == "other key's":
        owned = "pronunciation_dictionary" if "dictionary" in path else "voice"
        return f"not_{owned}_owner" if access is OWNER else "ok"
    if credential == "ephemeral":
        return "ok" if access in (SPEECH, SOCKET) else "insufficient_scope"
    if credential == "single-use":
        return "ok" if access is SOCKET else "insufficient_scope"
    return "invalid_api_key"


@dataclass
class World:
    """A service with two full keys of its table, and what belongs to the first."""

    app: FastAPI
    address: str
    client: httpx.Client
    credentials: dict[str, str]

    def headers(self, credential: str = "full") -> dict[str, str]:
        value = self.credential(credential)
        return {"xi-api-key": value} if value else {}

    def credential(self, name: str) -> str | None:
        if name == "single-use":  # a socket uses it up
            return self.mint(name)
        return self.credentials.get(name)

    def mint(self, kind: str) -> str:
        path = "/v1/tokens/ephemeral" if kind == "ephemeral" else "/v1/single-use-token/tts_websocket"
        token: str = self.client.post(self.address + path, headers=self.headers()).json()["token"]
        return token

    def fill(self, path: str) -> str:
        """The path with things that belong to the first key."""
        found = {
            "token_type": "tts_websocket",
            "name": "security",
            "model_id": "svc-turbo",
            "item_id": "x" * 20,
            "rest": "/x",
        }
        if "{voice_id}" in path:
            found["voice_id"] = self._make("/v1/voices/mix")["voice_id"]
        if "{dictionary_id}" in path:
            made = self._make("/v1/pronunciation-dictionaries/add-from-rules")
            found |= {"dictionary_id": made["id"], "version_id": made["version_id"]}
        return re.sub(r"{(\w+)(:path)?}", lambda match: found[match[1]], path)

    def _make(self, path: str) -> dict[str, Any]:
        response = self.client.post(self.address + path, json=BODY, headers=self.headers())
        made: dict[str, Any] = response.raise_for_status().json()
        return made

    def ask(self, method: str, path: str, credential: str) -> str:
        content: Any = {} if method in ("GET", "HEAD", "DELETE") else {"json": BODY}
        response = self.client.request(method, self.address + path, headers=self.headers(credential), **content)
        if response.status_code not in (401, 403):
            assert response.status_code < 500, (method, path, response.text)
            return "ok"
        body = response.json()
        status = body["detail"]["status"] if "detail" in body else read_openai_status(body["error"])
        assert response.status_code == REFUSALS[status]
        return str(status)


def read_openai_status(error: dict[str, Any]) -> str:
    """Their errors have a code alone."""
    codes = {"insufficient_permissions": "insufficient_scope"}
    return codes.get(error["code"], str(error["code"]))


async def create_keys(table_url: str, clock: Clock) -> dict[str, str]:
    table = KeysTable(table_url)

    async def create(kind: Kind = Kind.KEY, scope: Scope = Scope.FULL, **more: Any) -> tuple[str, str]:
        credential, stored = await table.create(clock(), name="Ann", kind=kind, scopes=[scope], **more)
        return credential, stored.id

    past: Any = {"expires_at": int(clock()) - 1}
    revoked, revoked_id = await create()
    credentials = {
        "wrong": "no-key-of-this-server",
        "wrong token": generate_credential(Kind.EPHEMERAL),
        "full": (await create())[0],
        "other key's": (await create())[0],
        "expired key": (await create(**past))[0],
        "expired ephemeral": (await create(Kind.EPHEMERAL, Scope.TTS, **past))[0],
        "expired single-use": (await create(Kind.SINGLE_USE, Scope.TTS_WEBSOCKET, **past))[0],
        "revoked key": revoked,
        "token of a revoked key": (await create(Kind.EPHEMERAL, Scope.TTS, minted_by=revoked_id))[0],
    }
    await table.revoke(revoked_id, clock())
    await table.close()
    return credentials


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, phonemizer: Phonemizer) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("access")
    clock = Clock()
    table = f"sqlite:///{folder}/keys.db"
    credentials = asyncio.run(create_keys(table, clock))
    settings: Any = {"api_keys_table": table, "data_dir": folder, "cache_dir": folder}
    with running(phonemizer, clock, **settings) as service, httpx.Client(timeout=120) as client:
        world = World(service.server.config.app, service.address, client, credentials)  # type: ignore[arg-type]
        credentials["ephemeral"] = world.mint("ephemeral")
        yield world


def test_the_table_has_every_route(world: World) -> None:
    found = set()
    for route in iter_route_contexts(world.app.routes):
        if route.path is None:  # answers 404 for what is not offered: see NOWHERE
            continue
        methods = route.methods or {FOLDER if type(route.route).__name__ == "Mount" else WEBSOCKET}
        found |= {(method, str(route.path)) for method in methods}
    assert found == set(TABLE)


@pytest.mark.parametrize("route", HTTP, ids=" ".join)
def test_requests(world: World, route: tuple[str, str]) -> None:
    method, path = route
    address = world.fill(path)
    # The key that may do it comes last: it may remove the voice.
    for credential in sorted(CREDENTIALS, key="full".__eq__):
        expected = expect(TABLE[route], credential, path)
        assert world.ask(method, address, credential) == expected, credential
        if method == "GET":
            head = world.client.head(world.address + address, headers=world.headers(credential))
            assert (head.status_code == 401) == (expected != "ok"), credential


@pytest.mark.parametrize("route", NOWHERE, ids=" ".join)
def test_paths_that_there_are_not(world: World, route: tuple[str, str]) -> None:
    for credential in CREDENTIALS:
        assert world.ask(*route, credential) == expect(FULL, credential, route[1]), credential


@pytest.mark.slow
@pytest.mark.parametrize("credential", ["none", "ephemeral", "single-use"])
def test_no_spelling_of_a_path_lets_a_credential_through(world: World, credential: str) -> None:
    closed = [row for row in HTTP if expect(TABLE[row], credential, row[1]) != "ok"]
    assert len(closed) > 20
    for method, path in closed:
        plain = re.sub(r"{[^}]+}", "af_heart", path)
        for address in (f"{plain}/", f"{plain}/more", f"/{plain}", plain.replace("/", "//"), plain.upper()):
            assert world.ask(method, address, credential) != "ok", (method, address)


def send_in_header(credential: str) -> dict[str, Any]:
    return {"headers": {"xi-api-key": credential}}


def send_as_bearer(credential: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {credential}"}}


def send_in_query(credential: str) -> dict[str, Any]:
    return {"params": {"authorization": f"Bearer {credential}"}}


def send_as_token(credential: str) -> dict[str, Any]:
    return {"params": {"single_use_token": credential}}


def send_in_message(credential: str) -> dict[str, Any]:
    return {"first": {"authorization": f"Bearer {credential}"}}


def open_socket(
    world: World,
    path: str,
    headers: dict[str, str] | None = None,
    params: dict[str, str] | None = None,
    first: dict[str, str] | None = None,
) -> str:
    """The `status` of the refusal, in the handshake or after the first message; `ok` if it speaks."""
    address = f"{world.address.replace('http', 'ws', 1)}{path}?{urlencode(params or {})}"
    said = {"text": "Hi. ", "flush": True, "context_id": "a", "voices": ["af_heart"], "inputs": BODY["inputs"]}
    try:
        with connect(address, additional_headers=headers) as socket:
            socket.send(json.dumps({**said, **(first or {})}))
            answer = json.loads(socket.recv(timeout=120))
    except InvalidStatus as denied:
        return str(json.loads(denied.response.body or b"")["detail"]["status"])
    return "ok" if answer.get("audio") or answer.get("audio_base64") else str(answer["error"])


@pytest.mark.parametrize("path", SOCKETS)
@pytest.mark.parametrize("send", [send_in_header, send_as_bearer, send_in_query, send_as_token, send_in_message])
def test_sockets(world: World, path: str, send: Any) -> None:
    address = world.fill(path)
    for name in CREDENTIALS:
        credential = world.credential(name)
        sent = {} if credential is None else send(credential)
        assert open_socket(world, address, **sent) == expect(SOCKET, name, path), name


@pytest.mark.parametrize("path", SOCKETS)
def test_a_single_use_token_opens_no_second_socket(world: World, path: str) -> None:
    token = world.mint("single-use")
    for expected in ("ok", "invalid_api_key", "invalid_api_key"):
        assert open_socket(world, world.fill(path), **send_as_token(token)) == expected


def test_the_guide_names_what_tokens_reach() -> None:
    section = SECURITY_GUIDE.read_text("utf-8").partition("### What a token reaches")[2].partition("\n#")[0]
    named = re.findall(r"`(GET|POST|WebSocket) ([^`]+)`", section)
    patterns = [(method.upper(), re.escape(path).replace("…", ".*")) for method, path in named]

    reached = {row for row, access in TABLE.items() if access in (SPEECH, SOCKET)}
    found = [{row for row in TABLE if row[0] == method and re.fullmatch(path, row[1])} for method, path in patterns]
    assert all(found), "the guide names a path that there is not"
    assert set().union(*found) == reached
