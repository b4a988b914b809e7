"""`x-svc-language`: what the frontend read, and that a language that was named is never ignored in silence."""

import json
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

from svc.api.speech import language_header
from svc.text.language.grades import Grade, find_grade
from svc.text.language.languages import Language
from svc.text.language.table import load_table
from tests.api.realtime.conftest import Running, service  # noqa: F401

HEADER = "x-svc-language"
SPEECH_PATHS = [
    f"/v1/text-to-speech/af_heart{path}" for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps")
]
DIALOGUE_PATHS = [
    f"/v1/text-to-dialogue{path}" for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps")
]
OPENAI_PATHS = ["/v1/audio/speech", "/openai/v1/audio/speech"]


@pytest.fixture(autouse=True)
def grades(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grades of its own: those of the data change with each measurement."""
    given = {Language.ARABIC: Grade.NOT_OFFERED, Language.GERMAN: Grade.FAIR, Language.TAMIL: Grade.NOT_OFFERED}
    monkeypatch.setattr(language_header, "find_grade", lambda language: given.get(language, Grade.GOOD))


CASES = [
    ("es", "es"),
    ("en", "en"),
    ("pt-BR", "pt"),
    ("Klingon", "auto; requested=Klingon; reason=unknown"),
    ("th", "auto; requested=th; reason=not_spoken"),
    ("sr-Latn", "auto; requested=sr-Latn; reason=not_spoken"),
    ("ar", "ar; grade=not_offered"),
    ("de-AT", "de; grade=fair"),
    ("Deutsch", "de; grade=fair"),
    ("xx", "auto; requested=xx; reason=unknown"),
    ("x; y=\r\nz: 1", "auto; reason=unknown"),
    ("日本", "auto; reason=unknown"),
]


@pytest.mark.parametrize(("code", "header"), CASES)
def test_a_named_language(client: TestClient, code: str, header: str) -> None:
    for path in SPEECH_PATHS:
        for field in ("language_code", "language"):
            response = client.post(path, json={"text": "Hello.", field: code})
            assert (response.status_code, response.headers[HEADER]) == (200, header)


@pytest.mark.parametrize(
    "body", [{}, {"language_code": None}, {"language_code": ""}, {"language_code": "auto"}, {"language": "Auto"}]
)
def test_none_was_named(client: TestClient, body: dict[str, object]) -> None:
    for path in SPEECH_PATHS:
        assert HEADER not in client.post(path, json={"text": "Hello.", **body}).headers


def _speak(client: TestClient, path: str, text: str, code: str | None = None) -> str | None:
    """The header of an answer in the voice af_heart."""
    if path in DIALOGUE_PATHS:
        body = {"inputs": [{"text": text, "voice_id": "af_heart"}], "language_code": code}
    elif path in OPENAI_PATHS:
        body = {"input": text, "voice": "af_heart", "model": "tts-1"}
    else:
        body = {"text": text, "language_code": code}
    response = client.post(path, json=body)
    assert response.status_code == 200
    return response.headers.get(HEADER)


@pytest.mark.parametrize("path", SPEECH_PATHS + DIALOGUE_PATHS + OPENAI_PATHS)
@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("Das Abendessen ist fast fertig. It is late.", "de; reason=detected; grade=fair"),
        ("நேற்று மாலை முழுவதும் மழை பெய்தது.", "ta; reason=detected; grade=not_offered"),
        ("Ieri è piovuto tutto il pomeriggio.", "it; reason=detected"),
        # The markup decides, not the words.
        ('<lang xml:lang="en">Guten Tag, das Abendessen ist fast fertig.</lang>', "en; reason=markup"),
        ('<lang xml:lang="de">Hello, how are you today?</lang>', "de; reason=markup; grade=fair"),
        ('<p xml:lang="it">Ciao.</p>', "it; reason=markup"),
        ('<voice name="ff_siwis">Hello.</voice>', "fr; reason=markup"),
        ('<lang xml:lang="tlh">Hello there, my friend.</lang>', None),
        # What is not spoken does not count.
        ("<!-- Das Abendessen ist fast fertig und wir essen bald. --> Hello there, my friend.", None),
        ("<script>Das Abendessen ist fast fertig</script> Hello there, my friend.", None),
        ('<break time="1s"/> [whispers] 🙂 Das Abendessen ist fast fertig.', "de; reason=detected; grade=fair"),
        ('<sub alias="dinner is ready">Das</sub> Hello there, my friend.', None),
        # The first words count.
        ('I said <lang xml:lang="fr">bonjour</lang> to him.', None),
        # Letters that nothing reads.
        ("សួស្តី", "none; unread=khmer"),
        ("Hello ສະບາຍດີ there, my friend.", "en; unread=lao"),
        ("བཀྲ་ཤིས ᠮᠣᠩᠭᠣᠯ ᏣᎳᎩ ꆈꌠꉙ ᱥᱟᱱᱛᱟᱲᱤ ދިވެހި", "none; unread=cherokee,mongolian,ol-chiki,thaana,tibetan,yi"),
        ("🙂", None),
    ],
)
def test_the_header_says_what_was_read(client: TestClient, path: str, text: str, header: str | None) -> None:
    assert _speak(client, path, text) == header


@pytest.mark.parametrize("path", SPEECH_PATHS + DIALOGUE_PATHS)
@pytest.mark.parametrize(
    ("text", "code", "header"),
    [
        ('<lang xml:lang="de">Guten Tag.</lang>', "es", "de; requested=es; reason=markup; grade=fair"),
        ('<lang xml:lang="en-GB">Hello.</lang>', "en-US", "en"),
        ("សួស្តី", "km", "auto; requested=km; reason=not_spoken; unread=khmer"),
        ("สวัสดี ຂອບໃຈ", "es", "es; unread=lao"),
        ("🙂", "es", "es"),
        ("Das Abendessen ist fast fertig.", "auto", "de; reason=detected; grade=fair"),
    ],
)
def test_a_named_language_with_markup(client: TestClient, path: str, text: str, code: str, header: str) -> None:
    assert _speak(client, path, text, code) == header


@pytest.mark.parametrize("path", ["/v1/text-to-speech/af_heart", "/v1/text-to-speech/af_heart/with-timestamps"])
def test_a_whole_clip_names_all_scripts(client: TestClient, path: str) -> None:
    assert _speak(client, path, "Hello there, my friend.\n\n" * 40 + "ສະບາຍດີ") == "en; unread=lao"


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
    for code, header in [*CASES, ("auto", None)]:
        with service.open(kind, None, language_code=code) as caller:
            assert caller.socket.response is not None
            assert caller.socket.response.headers.get(HEADER) == header
    with service.open(kind) as caller:
        assert caller.socket.response is not None
        assert HEADER not in caller.socket.response.headers
