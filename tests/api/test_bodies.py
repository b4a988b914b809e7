"""What clients may send: how much, in which encoding, and what a request can do without."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute
from websockets.exceptions import ConnectionClosed
from wyoming.event import Event

from svc.api.input_budget import InputBudget
from svc.api.middleware.bodies import JsonRoute
from svc.api.realtime.messages import MAX_FIRST_MESSAGE_CHARACTERS, DialogueMessage, SpeechMessage
from svc.api.wyoming.events import MAX_LINE_BYTES, read_event
from svc.app import create_app
from svc.errors import InputBusy, MessageTooLarge
from svc.serving.protocols import ServerConfig
from svc.settings import Settings
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Running, eventually, running
from tests.security.wire import PATH, dial, request

SPEECH = "/v1/text-to-speech/af_heart"
JSON = {"content-type": "application/json"}
LARGE = 1_500_000


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Settings(engine="fake"))


def list_routes(routes: list[BaseRoute]) -> Iterator[APIRoute]:
    for route in routes:
        if included := getattr(route, "original_router", None):
            yield from list_routes(included.routes)
        elif isinstance(route, APIRoute):
            yield route


def find_unbounded(schema: Any, definitions: dict[str, Any], place: str) -> Iterator[str]:
    """The strings and lists of a schema that may have any length."""
    if not isinstance(schema, dict):
        return
    if reference := schema.get("$ref"):
        yield from find_unbounded(definitions[reference.rpartition("/")[2]], definitions, place)
    kind = schema.get("type")
    chosen = "enum" in schema or "const" in schema
    is_file = schema.get("format") == "binary" or "contentEncoding" in schema  # SVC_MAX_CLIP_BYTES bounds them
    if kind == "string" and "maxLength" not in schema and not chosen and not is_file:
        yield place
    if kind == "array" and "maxItems" not in schema:
        yield place
    if kind == "object" and schema.get("additionalProperties") and "maxProperties" not in schema:
        yield place
    for each in (*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        yield from find_unbounded(each, definitions, place)
    yield from find_unbounded(schema.get("items"), definitions, f"{place}[]")
    yield from find_unbounded(schema.get("additionalProperties"), definitions, f"{place}.*")
    for name, each in schema.get("properties", {}).items():
        yield from find_unbounded(each, definitions, f"{place}.{name}")


def test_every_string_and_list_of_the_api_has_a_bound(app: FastAPI) -> None:
    document = app.openapi()
    definitions = document["components"]["schemas"]
    unbounded, seen = list[str](), 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            schemas = [
                (each["name"], each["schema"])
                for each in operation.get("parameters", ())
                if each["in"] == "query"  # the path is as long as an address may be
            ]
            content = operation.get("requestBody", {}).get("content", {})
            schemas += [("body", each["schema"]) for each in content.values()]
            seen += len(schemas)
            for name, schema in schemas:
                unbounded += find_unbounded(schema, definitions, f"{method.upper()} {path} {name}")
    assert seen > 40
    assert unbounded == []


@pytest.mark.parametrize("message", [SpeechMessage, DialogueMessage])
def test_every_string_and_list_of_a_message_has_a_bound(message: type[SpeechMessage | DialogueMessage]) -> None:
    schema = message.model_json_schema()
    assert list(find_unbounded(schema, schema["$defs"], "message")) == []


def test_only_routes_that_parse_in_bounded_time_take_json(app: FastAPI) -> None:
    with_body = [route for route in list_routes(app.routes) if route.body_field]
    assert len(with_body) > 15
    assert [route.path for route in with_body if not isinstance(route, JsonRoute)] == []
    assert [route.path for route in with_body if not (route.methods or set()) <= {"POST", "PUT", "PATCH"}] == []


def fill(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """For each list of a body, one with far too many elements; and as many for each other field."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return {name: [{}] * 100_000 for name in schema["properties"]}


def test_no_body_makes_a_long_answer(app: FastAPI, client: TestClient) -> None:
    document = app.openapi()
    definitions = document["components"]["schemas"]
    tried = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            schema = content and next((each for each in content["schema"].get("anyOf", [content["schema"]])), None)
            if not schema or "$ref" not in schema:
                continue
            for name, value in fill(schema, definitions).items():
                body = json.dumps({name: value}, separators=(",", ":"))
                for given in (body, json.dumps({name: value[:5_000]})):
                    response = client.request(method, path, content=given, headers=JSON)
                    assert response.status_code < 500, (path, name, response.text)
                    assert len(response.content) < 10_000, (path, name)
                    tried += 1
    assert tried > 60


def test_errors_quote_little(client: TestClient) -> None:
    response = client.post("/v1/text-to-dialogue", json={"inputs": [{"text": "a" * 1_000, "voice_id": "b" * 100_000}]})
    assert response.status_code == 422
    assert len(response.content) < 300


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("application/json", '{"text": "Käse"}'.encode(), "Käse"),
        ("application/json", b"\xef\xbb\xbf" + b'{"text": "Hi."}', "Hi."),
        ("application/json; charset=iso-8859-1", '{"text": "Käse"}'.encode("latin-1"), "Käse"),
        ('application/json; charset="Windows-1252"', '{"text": "5 €"}'.encode("cp1252"), "5 €"),
        ("application/json; charset=utf-16", '{"text": "Käse"}'.encode("utf-16"), "Käse"),
        ("application/json; charset=klingon", '{"text": "Käse"}'.encode(), "Käse"),
        ("application/json; charset=zip", '{"text": "Käse"}'.encode(), "Käse"),
        ("application/json; charset=iso-8859-99", '{"text": "Käse"}'.encode(), "Käse"),
    ],
)
def test_charsets(client: TestClient, content_type: str, body: bytes, text: str) -> None:
    response = client.post(f"{SPEECH}/with-timestamps", content=body, headers={"content-type": content_type})
    assert response.status_code == 200, response.text
    assert "".join(response.json()["alignment"]["characters"]) == text


@pytest.mark.parametrize(
    ("content_type", "named"), [("application/json", "UTF-8"), ("application/json; charset=ascii", "ascii")]
)
def test_a_body_in_another_charset_is_named(client: TestClient, content_type: str, named: str) -> None:
    body = '{"text": "Käse"}'.encode("latin-1")
    response = client.post(SPEECH, content=body, headers={"content-type": content_type})
    assert response.status_code == 422
    (problem,) = response.json()["detail"]
    assert (problem["loc"], problem["type"]) == (["body", 11], "string_unicode")
    assert named in problem["msg"]
    openai = client.post("/v1/audio/speech", content=body, headers={"content-type": content_type})
    assert f"The body is not {named}" in openai.json()["error"]["message"]


@pytest.mark.parametrize(
    "field",
    [
        "model_id",
        "language",
        "language_code",
        "seed",
        "previous_text",
        "next_text",
        "pronunciation_dictionary_locators",
        "apply_text_normalization",
        "optimize_streaming_latency",
        "unknown",
    ],
)
@pytest.mark.parametrize(
    "value", [5, -1.5, True, "x", "x" * LARGE, [], [1], [[]] * 100_000, {}, {"a": 1}, 10**30, "\ud800"]
)
def test_no_field_that_can_be_done_without_fails_a_request(client: TestClient, field: str, value: object) -> None:
    response = client.post(SPEECH, content=json.dumps({"text": "Hi.", field: value}), headers=JSON)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("value", [5, "yes", [], {"a": 1}])
def test_settings_of_another_type_are_not_given(client: TestClient, value: object) -> None:
    for name in ("stability", "similarity_boost", "style", "use_speaker_boost", "speed", "unknown"):
        body = {"text": "Hi.", "voice_settings": {name: value}}
        assert client.post(SPEECH, json=body).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{SPEECH}?output_format="),
        ("POST", f"{SPEECH}?output_format&enable_logging="),
        ("GET", "/v1/voices?show_legacy="),
        ("GET", "/v2/voices?page_size=&search=&next_page_token=&sort=&language=&voice_ids="),
        ("GET", "/v1/pronunciation-dictionaries?page_size=&cursor=&include_archived="),
        ("GET", "/v1/voices/af_heart?with_settings="),
    ],
)
def test_empty_parameters_are_absent(client: TestClient, method: str, path: str) -> None:
    body = {"text": "Hi."} if method == "POST" else None
    with_empty = client.request(method, path, json=body)
    without = client.request(method, path.partition("?")[0], json=body)
    assert with_empty.status_code == without.status_code == 200, with_empty.text
    assert with_empty.content == without.content


def test_long_addresses(client: TestClient) -> None:
    for path in (f"/v2/voices?search={'a+' * 20_000}", f"/v1/voices/{'a' * 9_000}", f"/{'a' * 9_000}"):
        response = client.get(path)
        assert (response.status_code, response.json()["detail"]["status"]) == (414, "address_too_long")
    for query in (f"search={'a' * 201}", "&".join(["voice_ids=a"] * 101), f"gender={'a' * 101}"):
        assert client.get(f"/v2/voices?{query}").status_code == 422


@pytest.fixture(scope="module")
def tight(phonemizer: Phonemizer) -> Iterator[Running]:
    """A server with a key that holds two large bodies at once."""
    with running(phonemizer, api_key="right", max_input_bytes=2 * LARGE) as service:
        yield service


KEY = {"xi-api-key": "right"}


def begin(service: Running, method: str, path: str, headers: dict[str, str]) -> Any:
    """A connection with nearly all of a large body."""
    connection = dial(service.address)
    connection.sendall(request(method, path, {"content-length": "2000000", **JSON, **headers}) + b" " * LARGE)
    return connection


def held(service: Running) -> int:
    assert isinstance(service.server.config, ServerConfig)
    return service.server.config.input_budget.held


def test_large_bodies_share_a_budget(tight: Running) -> None:
    first, second = (begin(tight, "POST", PATH, KEY) for _ in range(2))
    try:
        eventually(lambda: held(tight) > 2 * LARGE - 100_000)
        with begin(tight, "POST", PATH, KEY) as third:
            assert b'"system_busy"' in read_until(third, b"}}")
        small = httpx.post(f"{tight.address}{PATH}", json={"text": "Hi."}, headers=KEY, timeout=120)
        assert small.status_code == 200
    finally:
        first.close()
        second.close()
    eventually(lambda: held(tight) == 0)
    body = {"text": "Hi.", "unknown": "x" * LARGE}
    assert httpx.post(f"{tight.address}{PATH}", json=body, headers=KEY, timeout=120).status_code == 200
    eventually(lambda: held(tight) == 0)


def read_until(connection: Any, end: bytes) -> bytes:
    received = b""
    while end not in received and (data := connection.recv(65536)):
        received += data
    return received


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/health"),
        ("POST", "/health"),
        ("POST", "/docs/none"),
        ("POST", "/previews/none.mp3"),
        ("GET", "/previews/none.mp3"),
        ("OPTIONS", PATH),
        ("POST", "/nothing"),
        ("POST", PATH),
    ],
)
def test_a_body_that_nobody_wants_is_not_held(tight: Running, method: str, path: str) -> None:
    with begin(tight, method, path, {}) as connection:
        assert read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1")  # answered before the body is complete
        assert held(tight) == 0


def test_the_first_message_is_small(tight: Running) -> None:
    hello = {"text": " ", "xi_api_key": "right"}
    with tight.open("stream-input") as caller:
        caller.send({**hello, "unknown": "x" * MAX_FIRST_MESSAGE_CHARACTERS})
        assert caller.rest()[0]["error"] == "message_too_large"
        assert caller.close_code == 1009
    with tight.open("stream-input") as caller:
        with suppress(ConnectionClosed):  # it may be refused before all of it is sent
            caller.socket.send(["x" * 1_000 for _ in range(300)])  # in fragments
        assert caller.rest() == []
        assert (caller.close_code, caller.socket.close_reason) == (1009, "message_too_large")
    with tight.open("stream-input") as caller:
        caller.send(hello, {"text": "Hello. ", "unknown": "x" * 900_000}, {"text": ""})
        assert caller.rest()[-1]["isFinal"]
    eventually(lambda: held(tight) == 0)


def test_large_messages_share_the_budget(tight: Running) -> None:
    first, second = (begin(tight, "POST", PATH, KEY) for _ in range(2))
    with first, second, tight.open("stream-input") as caller:
        eventually(lambda: held(tight) > 2 * LARGE - 100_000)
        caller.send({"text": " ", "xi_api_key": "right"})
        caller.send({"text": "Hello. ", "unknown": "x" * 900_000})
        assert caller.rest() == []
        assert (caller.close_code, caller.socket.close_reason) == (1013, "system_busy")
    eventually(lambda: held(tight) == 0)


def read_wyoming(content: bytes, budget: int) -> Event | None:
    async def read() -> Event | None:
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        reader.feed_data(content)
        reader.feed_eof()
        return await read_event(reader, InputBudget(budget))

    return asyncio.run(read())


def test_wyoming_shares_the_budget() -> None:
    data = json.dumps({"text": "x" * 100_000}).encode()
    event = json.dumps({"type": "synthesize", "data_length": len(data)}).encode() + b"\n" + data
    found = read_wyoming(event, 200_000)
    assert found is not None
    assert len(found.data["text"]) == 100_000
    with pytest.raises(InputBusy):
        read_wyoming(event, 50_000)
    with pytest.raises(MessageTooLarge):
        read_wyoming(json.dumps({"type": "synthesize", "data": {"text": "x" * 2 * MAX_LINE_BYTES}}).encode(), 10**9)
