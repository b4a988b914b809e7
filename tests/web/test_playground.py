"""How the playground is served: without a key, with strict headers, and with nothing from other servers."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

from svc.api.pages import playground_config
from svc.app import create_app
from svc.audio.formats import OUTPUT_FORMATS, Codec
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

WEB = files("svc").joinpath("web")
FILES = {each.name: each.read_text("utf-8") for each in WEB.joinpath("playground").iterdir() if each.is_file()}
HTML = WEB.joinpath("templates/playground.html").read_text("utf-8")


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
    assert response.headers["cross-origin-opener-policy"] == "same-origin"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["permissions-policy"] == "microphone=(self), camera=(), geolocation=()"
    policy = response.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert {"require-trusted-types-for 'script'", "media-src 'self' blob:", "connect-src 'self'"} <= set(policy)
    assert "unsafe" not in response.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/page/main.js"])
def test_an_unchanged_file_is_not_sent_again(client: TestClient, path: str) -> None:
    first = client.get(path)
    again = client.get(path, headers={"if-none-match": f'W/"other", {first.headers["etag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["cache-control"] == "no-cache"
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/page/main.js"])
def test_head_sends_only_the_length(client: TestClient, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert head.content == b""
    assert head.headers["content-length"] == whole.headers["content-length"]


@pytest.mark.parametrize(
    "name", ["missing.js", "../settings.py", "..%2Fsettings.py", "%2e%2e/settings.py", "../templates/guide.html", ""]
)
def test_other_files_are_not_found(client: TestClient, name: str) -> None:
    response = client.get(f"/page/{name}", headers={"xi-api-key": "secret"})
    assert (response.status_code, response.json()["detail"]["status"]) == (404, "not_found")


def test_is_not_in_the_openapi_description(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if path == "/" or path.startswith("/page")]


def test_the_page_embeds_the_constants_of_the_server(client: TestClient) -> None:
    (embedded,) = re.findall(r'<script type="application/json" id="config">(.*?)</script>', client.get("/").text)
    config = json.loads(embedded)
    assert config == json.loads(json.dumps(playground_config()))
    # `mp3_44100` is another name for `mp3_44100_128`.
    assert {each["name"] for each in config["formats"]} == set(OUTPUT_FORMATS) - {"mp3_44100"}
    assert {each["codec"] for each in config["formats"]} == {codec.label for codec in Codec}
    assert not re.search("flac|ulaw|FLAC|µ-law", FILES["controls.js"]), "the menu is made from the table"


def test_every_file_is_used_and_exists() -> None:
    named = set(re.findall(r'"(?:page/|\./)([\w.]+)"', HTML + "".join(FILES.values())))
    assert named == set(FILES)


def test_names_no_other_server() -> None:
    """The XML namespace aside, which browsers do not fetch."""
    text = (HTML + "".join(FILES.values())).replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]+", text) == []


def test_no_script_or_style_is_inline() -> None:
    """The content security policy forbids it; this fails before a browser does."""
    markup = HTML.replace('<script type="application/json" id="config">', "")
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", markup) == []
