"""Requests that are not what they should be, and pages from elsewhere."""

import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.conftest import serve_ready

PATH = "/v1/text-to-speech/af_heart"


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/v1/v1/text-to-speech/af_heart", 404, "not_found"),
        ("GET", PATH, 405, "method_not_allowed"),
        ("PUT", "/v1/voices", 405, "method_not_allowed"),
    ],
)
def test_wrong_paths_and_methods(client: TestClient, method: str, path: str, status: int, name: str) -> None:
    response = client.request(method, path)
    assert (response.status_code, response.json()["detail"]["status"]) == (status, name)
    assert response.json()["detail"]["message"]
    assert response.headers["request-id"]


def test_malformed_json(client: TestClient) -> None:
    for body in (b"{", b"", b'{"text": "a"', b"\xff\xfe", b"null"):
        response = client.post(PATH, content=body, headers={"content-type": "application/json"})
        assert response.status_code in (400, 422)
        assert isinstance(response.json()["detail"], list | dict)


def test_wrong_content_type(client: TestClient) -> None:
    response = client.post(PATH, content=b"<text/>", headers={"content-type": "text/xml"})
    assert (response.status_code, response.json()["detail"]["status"]) == (415, "unsupported_media_type")
    assert client.post(PATH, content=b'{"text": "Hi."}').status_code == 200


def test_huge_body(client: TestClient) -> None:
    response = client.post(PATH, content=b" " * 50_000_000, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["detail"]["status"]) == (413, "request_too_large")


@pytest.fixture
def address(phonemizer: Phonemizer) -> Iterator[tuple[str, int]]:
    """A real server that is quick to lose patience."""
    app = create_app(Settings(max_body_seconds=0.3), Pipeline(FakeEngine(), phonemizer))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join()


def test_a_body_that_never_ends(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(
            f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n".encode()
        )
        answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408")
    assert httpx.get(f"http://{address[0]}:{address[1]}/health").status_code in (200, 503)


def test_pages_of_this_machine_may_call_an_open_service(client: TestClient) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "xi-api-key,content-type"}
    here = client.options(PATH, headers={"origin": "http://localhost:3000", **asked})
    assert here.status_code == 200
    assert here.headers["access-control-allow-origin"] == "http://localhost:3000"
    elsewhere = client.options(PATH, headers={"origin": "https://example.com", **asked})
    assert "access-control-allow-origin" not in elsewhere.headers


def test_any_page_may_call_a_service_with_keys(phonemizer: Phonemizer) -> None:
    with TestClient(create_app(Settings(api_key="a-secret-key"), Pipeline(FakeEngine(), phonemizer))) as client:
        response = client.get("/v1/voices", headers={"origin": "https://example.com"})
        assert response.status_code == 401
        assert response.headers["access-control-allow-origin"] == "*"
        exposed = response.headers["access-control-expose-headers"]
        assert all(name in exposed for name in ("request-id", "character-cost", "history-item-id", "x-request-id"))


def test_origins_can_be_chosen(phonemizer: Phonemizer) -> None:
    with serve_ready(
        Settings(cors_origins="https://a.example, https://b.example"), Pipeline(FakeEngine(), phonemizer)
    ) as client:
        for origin, allowed in (("https://b.example", True), ("https://c.example", False)):
            response = client.get("/v1/voices", headers={"origin": origin})
            assert (response.headers.get("access-control-allow-origin") == origin) is allowed
