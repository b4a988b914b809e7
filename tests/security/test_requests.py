"""Requests that are ambiguous, or that try to reach by a trick what they must not."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Running, running
from tests.security.wire import PATH, dial, exchange, read_rest, request

pytestmark = pytest.mark.slow

CLOSE = {"connection": "close"}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def guarded(phonemizer: Phonemizer) -> Iterator[Running]:
    """A server with a key and little patience."""
    with running(phonemizer, api_key="right", max_body_seconds=1, max_body_bytes=2000, header_seconds=5) as service:
        yield service


@pytest.mark.parametrize(
    "raw",
    [
        request("POST", PATH, {"content-length": "5", "transfer-encoding": "chunked"}) + b"0\r\n\r\n",
        request("POST", PATH, {"transfer-encoding": "chunked", "content-length": "0"}) + b"0\r\n\r\n",
        request("GET", "/health", {"content-length": "1", "Content-Length": "2"}),
        request("GET", "/health", {"content-length": "1, 2"}),
        request("GET", "/health", {"content-length": "-1"}),
        request("GET", "/health", {"content-length": "+1"}),
        request("POST", PATH, {"transfer-encoding": "gzip, chunked"}),
        request("POST", PATH, {"transfer-encoding": "xchunked"}),
        request("GET", "/health", {"Host": "elsewhere"}),
        request("GET", "/health", {"x y": "z"}),
        request("GET", "/health", {"x ": "z"}),
        request("GET", "/health", {"x": "a\0b"}),
        request("GET", "/he alth"),
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    ],
)
def test_what_is_not_clear_http_is_refused_in_our_shape(guarded: Running, raw: bytes) -> None:
    status, answer = exchange(guarded.address, raw)
    assert (status, answer["detail"]["status"]) == (400, "invalid_request")
    assert answer["detail"]["message"]


def test_bad_chunks_in_mid_request_end_the_connection_quietly(
    guarded: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with dial(guarded.address) as connection:
        connection.sendall(request("POST", PATH, {"transfer-encoding": "chunked", "xi-api-key": "right", **JSON}))
        connection.sendall(b"zz\r\n")
        assert read_rest(connection).startswith(b"HTTP/1.1 400")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /health HTTP/1.1\nhost: x\nconnection: close\n\n",
        b"GET /health HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\nconnection: close\r\n\r\n",
    ],
    ids=["bare newlines", "folded header"],
)
def test_what_the_standard_lets_pass_is_one_request(guarded: Running, raw: bytes) -> None:
    assert exchange(guarded.address, raw)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "//v1/voices",
        "/v1//voices",
        "/./v1/voices",
        "/health/../v1/voices",
        "/docs/../v1/voices",
        "/docs/%2e%2e/v1/voices",
        "/docs/..%2fv1/voices",
        "/page/../v1/voices",
        "/page/%2e%2e/%2e%2e/app.py",
        "/page/..%5c..%5capp.py",
        "/page//etc/passwd",
        "/docs/assets/../../../app.py",
        "/previews/../v1/voices",
        "/previews/..%2fv1%2fvoices",
        "/v1/voices;/health",
        "/v1/voices%00",
        "/v1%2fvoices",
        "/%76%31/voices",
        "/V1/voices",
        "/v1/voices/",
        "/v1/voices?/health",
        "/v1/voices%3f/health",
        "http://localhost/v1/voices",
        "http://localhost/health/../v1/voices",
        "localhost:80",
        "*",
        "/health;/../v1/voices",
        "/%ff%fe",
        "/v1/voices%0d%0aset-cookie:x",
    ],
)
@pytest.mark.parametrize("method", ["GET", "get", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_no_path_leads_around_authentication(guarded: Running, method: str, path: str) -> None:
    with dial(guarded.address) as connection:
        connection.sendall(request(method, path, CLOSE))
        answer = read_rest(connection)
    assert 300 <= int(answer.split()[1]) < 500
    assert not any(secret in answer for secret in (b"voice_id", b"import ", b"root:", b"set-cookie"))


def test_methods_cannot_be_overridden(guarded: Running) -> None:
    headers = {"x-http-method-override": "OPTIONS", "x-original-url": "/health", "x-rewrite-url": "/health", **CLOSE}
    assert exchange(guarded.address, request("GET", "/v1/voices", headers))[0] == 401


def test_an_endless_chunked_body(guarded: Running) -> None:
    with dial(guarded.address) as endless:
        headers = {"transfer-encoding": "chunked", "xi-api-key": "right", **JSON}
        endless.sendall(request("POST", PATH, headers))
        with suppress(ConnectionError):
            for _ in range(10):
                endless.sendall(b"400\r\n" + b" " * 0x400 + b"\r\n")
        assert endless.recv(12) == b"HTTP/1.1 413"


def test_a_body_slower_than_the_limit(guarded: Running) -> None:
    with dial(guarded.address) as slow:
        slow.sendall(request("POST", PATH, {"content-length": "1000", "xi-api-key": "right", **JSON}))
        stop = threading.Event()

        def trickle() -> None:
            with suppress(OSError):
                while not stop.wait(0.1):
                    slow.sendall(b" ")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            assert slow.recv(12) == b"HTTP/1.1 408"
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity"])
def test_compressed_bodies_are_refused(guarded: Running, encoding: str) -> None:
    body = gzip.compress(json.dumps({"text": "Hi."}).encode())
    headers = {"content-encoding": encoding, "xi-api-key": "right", **JSON, **CLOSE}
    status, answer = exchange(guarded.address, request("POST", PATH, headers, body))
    assert (status, answer["detail"]["status"]) == (415, "unsupported_media_type")


def test_an_upload_that_breaks_off_logs_no_traceback(guarded: Running, caplog: pytest.LogCaptureFixture) -> None:
    form = {"content-type": "multipart/form-data; boundary=x", "content-length": "100000", "xi-api-key": "right"}
    with dial(guarded.address) as connection:
        connection.sendall(request("POST", "/v1/voices/add", form))
        connection.sendall(b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.wav"\r\n\r\nRIFF')
    with dial(guarded.address) as connection:
        connection.sendall(request("GET", "/v1/voices", {"xi-api-key": "right", **CLOSE}))
        read_rest(connection)
    assert not [record for record in caplog.records if record.exc_info]
