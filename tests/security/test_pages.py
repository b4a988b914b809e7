"""Web pages from elsewhere, in the browser of somebody who can reach an open server."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import running
from tests.conftest import serve_ready
from tests.security.wire import dial, request

PATH = "/v1/text-to-speech/af_heart"
SOCKET = f"{PATH}/stream-input"
HELLO = {"text": "Hi."}
LOCAL = ["127.0.0.1:8000", "192.168.1.5", "[::1]:8000", "[fe80::1]", "localhost", "LocalHost:8000", "localhost."]
LOCAL += ["a.localhost", "nas", "my_svc:8000", "nas.local", "tts.internal", "nas.lan", "nas.home.arpa"]
FOREIGN = ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example."]
FOREIGN += ["evil@localhost", "localhost/evil.example", "localhost,evil.example", "[::1].evil.example"]
ELSEWHERE = [
    "https://evil.example",
    "null",
    "http://192.168.1.5:9000",
    "http://localhost.evil.example",
    "file://",
    "http://[",
    "",
]


def status_of(client: TestClient, **headers: str) -> tuple[int, str | None]:
    """How the server answers a request to speak with these headers; `_` stands for `-`."""
    response = client.post(PATH, json=HELLO, headers={name.replace("_", "-"): each for name, each in headers.items()})
    return response.status_code, response.json()["detail"]["status"] if response.status_code >= 400 else None


@pytest.fixture(scope="module")
def guarded(phonemizer: Phonemizer) -> Iterator[TestClient]:
    with serve_ready(Settings(api_key="right"), Pipeline(FakeEngine(), phonemizer)) as client:
        client.headers["xi-api-key"] = "right"
        yield client


@pytest.mark.parametrize("host", LOCAL)
def test_addresses_and_local_names(client: TestClient, host: str) -> None:
    assert status_of(client, host=host) == (200, None)


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_names_reach_nothing(client: TestClient, guarded: TestClient, host: str) -> None:
    for path in ("/", "/health", "/v1/voices", "/previews/af_heart.mp3", "/docs"):
        response = client.get(path, headers={"host": host})
        assert (response.status_code, response.json()["detail"]["status"]) == (403, "host_not_allowed")
    assert "SVC_ALLOWED_HOSTS" in response.json()["detail"]["message"]
    assert status_of(client, host=host) == (403, "host_not_allowed")
    with pytest.raises(WebSocketDenialResponse), client.websocket_connect(SOCKET, headers={"host": host}):
        pass
    assert status_of(guarded, host=host) == (200, None)


def test_hosts_can_be_chosen(phonemizer: Phonemizer) -> None:
    pipeline = Pipeline(FakeEngine(), phonemizer)
    for settings in ({}, {"api_key": "right"}):
        chosen = Settings(allowed_hosts="speech.example.com, *.svc.example", **settings)  # type: ignore[arg-type]
        with serve_ready(chosen, pipeline) as client:
            client.headers["xi-api-key"] = "right"
            for host in ("speech.example.com", "Speech.example.com:443", "a.svc.example", "10.0.0.1"):
                assert status_of(client, host=host) == (200, None)
            for host in ("other.example.com", "svc.example", "xsvc.example"):
                assert status_of(client, host=host) == (403, "host_not_allowed")
    with serve_ready(Settings(allowed_hosts="*"), pipeline) as client:
        assert status_of(client, host="any.example") == (200, None)


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_pages_from_elsewhere_can_neither_speak_nor_clone_nor_delete(client: TestClient, origin: str) -> None:
    headers = {"origin": origin, "host": "192.168.1.5:8000"}
    form = {"files": ("a.wav", b"RIFF")}
    for response in (
        client.post(PATH, json=HELLO, headers=headers),
        client.post(PATH, content=b'{"text": "Hi."}', headers={**headers, "content-type": "text/plain"}),
        client.post("/v1/voices/add", data={"name": "x"}, files=form, headers=headers),
        client.post("/v1/voices/custom-x/edit", data={"name": "x"}, headers=headers),
        client.delete("/v1/voices/custom-x", headers=headers),
        client.post("/v1/voices/af_heart/settings/edit", json={}, headers=headers),
        client.get("/previews/af_heart.mp3", headers=headers),
    ):
        assert (response.status_code, response.json()["detail"]["status"]) == (403, "origin_not_allowed")
    with pytest.raises(WebSocketDenialResponse), client.websocket_connect(SOCKET, headers=headers):
        pass


@pytest.mark.parametrize("host", ["192.168.1.5:8000", "nas.local", "localhost:8000"])
def test_the_pages_of_the_server_itself(client: TestClient, host: str) -> None:
    assert status_of(client, host=host, origin=f"http://{host}", sec_fetch_site="same-origin") == (200, None)


@pytest.mark.slow
def test_sockets(phonemizer: Phonemizer) -> None:
    key = {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13"}
    upgrade = {"connection": "upgrade", "upgrade": "websocket", **key}
    with running(phonemizer) as service:
        for headers, status in (
            ({"host": "192.168.1.5:8000", "origin": "http://192.168.1.5:8000"}, b"101"),
            ({"host": "192.168.1.5:8000", "origin": "http://localhost:3000"}, b"101"),
            ({"host": "192.168.1.5:8000", "origin": "http://192.168.1.5:9000"}, b"403"),
            ({"host": "192.168.1.5:8000", "origin": "null"}, b"403"),
            ({"host": "evil.example"}, b"403"),
        ):
            with dial(service.address) as connection:
                connection.sendall(request("GET", SOCKET, {**upgrade, **headers}))
                assert connection.recv(12) == b"HTTP/1.1 " + status


def test_elements_of_a_page_that_send_no_origin(client: TestClient, guarded: TestClient) -> None:
    elsewhere = {"sec-fetch-site": "cross-site"}
    preview = "/previews/af_heart.mp3"
    assert client.get(preview, headers=elsewhere).status_code == 403
    assert client.get(preview, headers={**elsewhere, "origin": "http://localhost:3000"}).status_code == 200
    assert client.get(preview, headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert guarded.get(preview, headers=elsewhere).status_code == 200
    assert client.get("/", headers=elsewhere).status_code == 200, "a link to the page"
    assert status_of(client, sec_fetch_site="cross-site") == (403, "origin_not_allowed")
    assert status_of(guarded, origin="https://app.example", sec_fetch_site="cross-site") == (200, None)


def test_origins_that_are_listed(phonemizer: Phonemizer) -> None:
    with serve_ready(Settings(cors_origins="https://app.example"), Pipeline(FakeEngine(), phonemizer)) as client:
        assert status_of(client, origin="https://app.example", sec_fetch_site="cross-site") == (200, None)
        assert status_of(client, origin="https://evil.example") == (403, "origin_not_allowed")
