"""How the page is served: to everybody, strictly, and without anything from elsewhere."""

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

_WEB = files("svc").joinpath("web")
PAGE = {each.name: each.read_text("utf-8") for each in _WEB.joinpath("playground").iterdir() if each.is_file()}
PAGE["index.html"] = _WEB.joinpath("templates/playground.html").read_text("utf-8")


@pytest.fixture(scope="module")
def client(phonemizer: Phonemizer) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(api_key="secret"), Pipeline(FakeEngine(), phonemizer))) as client:
        yield client


def test_needs_no_key(client: TestClient) -> None:
    assert client.get("/").status_code == 200
    assert client.get("/page/main.js").status_code == 200
    assert client.get("/v1/voices").status_code == 401


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/theme.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ],
)
def test_headers(client: TestClient, path: str, media_type: str) -> None:
    response = client.get(path)
    assert response.headers["content-type"] == media_type
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-cache"
    policy = response.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert "unsafe" not in response.headers["content-security-policy"]


def test_is_not_sent_twice(client: TestClient) -> None:
    first = client.get("/page/main.js")
    again = client.get("/page/main.js", headers={"if-none-match": f'W/"other", {first.headers["etag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert client.get("/page/main.js", headers={"if-none-match": '"other"'}).status_code == 200


def test_tells_its_length_alone_when_asked_so(client: TestClient) -> None:
    whole, head = client.get("/"), client.head("/")
    assert head.content == b""
    assert head.headers["content-length"] == whole.headers["content-length"]


@pytest.mark.parametrize("name", ["missing.js", "../settings.py", "..%2Fsettings.py", "%2e%2e/settings.py", ""])
def test_nothing_else_is_sent(client: TestClient, name: str) -> None:
    response = client.get(f"/page/{name}", headers={"xi-api-key": "secret"})
    assert (response.status_code, response.json()["detail"]["status"]) == (404, "not_found")


def test_is_not_part_of_the_described_api(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if path == "/" or path.startswith("/page")]


def test_every_file_is_used_and_there() -> None:
    named = set(re.findall(r'"(?:page/|\./)([\w.]+)"', "".join(PAGE.values())))
    assert named == set(PAGE) - {"index.html"}


def test_names_no_other_server() -> None:
    """XML's own namespace aside, which nobody fetches."""
    text = "".join(PAGE.values()).replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]+", text) == []


def test_nothing_is_inline() -> None:
    """The policy forbids it; this says so before a browser does."""
    markup = PAGE["index.html"]
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", markup) == []
