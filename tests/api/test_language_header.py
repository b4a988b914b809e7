"""`x-svc-language`: a language that was named is never ignored in silence."""

import json
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

from svc.api.language_header import HEADER
from svc.text.grades import Grade, find_grade
from svc.text.language import Language
from svc.text.language_table import load_table
from tests.api.realtime.conftest import Running, service  # noqa: F401

# What the header adds for a language that is not good: the data decides.
GRADES = {
    language.value: "" if find_grade(language) is Grade.GOOD else f"; grade={find_grade(language)}"
    for language in Language
}
CASES = [
    ("es", "es"),
    ("en", "en"),
    ("pt-BR", "pt"),
    ("Klingon", "auto; requested=Klingon; reason=unknown"),
    ("th", "auto; requested=th; reason=not_spoken"),
    ("sr-Latn", "auto; requested=sr-Latn; reason=not_spoken"),
    ("ar", "ar" + GRADES["ar"]),
    ("de-AT", "de" + GRADES["de"]),
    ("Deutsch", "de" + GRADES["de"]),
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


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("Das Abendessen ist fast fertig. It is late.", "de; reason=detected" + GRADES["de"]),
        ("நேற்று மாலை முழுவதும் மழை பெய்தது.", "ta; reason=detected" + GRADES["ta"]),
        ("Ieri è piovuto tutto il pomeriggio.", "it; reason=detected"),
    ],
)
def test_a_detected_language_is_told(client: TestClient, text: str, header: str) -> None:
    for path in ("", "/stream"):
        assert client.post(f"/v1/text-to-speech/af_heart{path}", json={"text": text}).headers[HEADER] == header


def test_grades_are_written_by_the_benchmark() -> None:
    """A language without measurements is not offered."""
    measured = json.loads(files("svc").joinpath("data/grades.json").read_text())["languages"]
    for language in Language:
        if language.row and language not in measured:
            assert find_grade(language) is Grade.NOT_MEASURED
    for row in measured.values():
        assert row["sentences"] >= 8
        assert {"mos", "voices", "measured"} <= set(row)
        assert {"base", "small"} & set(row)
        assert row["grade"] != Grade.GOOD or {"base", "small"} <= set(row)


def test_models_and_voices_list_what_is_offered(client: TestClient) -> None:
    offered = {each.code: find_grade(each) for each in Language if find_grade(each).offered}
    listed = client.get("/v1/models").json()[0]["languages"]
    assert {each["language_id"]: each["grade"] for each in listed} == offered
    voice = client.get("/v1/voices/af_heart").json()
    first, *others = voice["verified_languages"]
    assert (first["language"], first["grade"]) == ("en", "good")
    assert {each["language"] for each in others} == {code for code in offered if code in load_table()}


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
