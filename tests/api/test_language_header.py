"""`x-svc-language`: a language that was named is never ignored in silence."""

import pytest
from fastapi.testclient import TestClient

from svc.api.language_header import HEADER
from tests.api.realtime.conftest import Running, service  # noqa: F401

CASES = [
    ("es", "es"),
    ("en", "en"),
    ("pt-BR", "pt"),
    ("Deutsch", "auto; requested=Deutsch; reason=unknown"),
    ("de", "auto; requested=de; reason=not_spoken"),
    ("de-AT", "auto; requested=de-AT; reason=not_spoken"),
    ("pol", "auto; requested=pol; reason=not_spoken"),
    ("xx", "auto; requested=xx; reason=unknown"),
    ("x; y=\r\nz: 1", "auto; reason=unknown"),
    ("日本", "auto; reason=unknown"),
]


@pytest.mark.parametrize(("code", "header"), CASES)
def test_speech(client: TestClient, code: str, header: str) -> None:
    for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps"):
        for field in ("language_code", "language"):
            response = client.post(f"/v1/text-to-speech/af_heart{path}", json={"text": "Hello.", field: code})
            assert (response.status_code, response.headers[HEADER]) == (200, header)


def test_none_was_named(client: TestClient) -> None:
    for body in ({}, {"language_code": None}, {"language_code": ""}):
        assert HEADER not in client.post("/v1/text-to-speech/af_heart", json={"text": "Hello.", **body}).headers


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream-input", "multi-stream-input"])
def test_sockets(service: Running, kind: str) -> None:  # noqa: F811
    for code, header in CASES:
        with service.open(kind, None, language_code=code) as caller:
            assert caller.socket.response is not None
            assert caller.socket.response.headers[HEADER] == header
    with service.open(kind) as caller:
        assert caller.socket.response is not None
        assert HEADER not in caller.socket.response.headers
