"""Bodies with recordings: malformed forms and JSON are refused, early, and never a 500."""

import asyncio
import base64
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc.api.voices.json_uploads import InvalidUpload, parse_json
from svc.api.voices.uploads import Upload
from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.errors import BodyTooLarge
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.store import VoiceStore
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import serve_ready
from tests.voices.examples import make_voice

JSON_TYPE = {"content-type": "application/json"}
FORM_TYPE = {"content-type": "multipart/form-data; boundary=x"}
NAMES = ("name", "labels")
REFUSALS = {400, 404, 413, 415, 422}
VOICE = replace(make_voice(), voice_id="custom-ForTheUploadsTests00")


@pytest.fixture(scope="module")
def service(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("data")
    VoiceStore(folder / "voices", track_uploads=False).add(VOICE, None, limit=10)
    with serve_ready(Settings(data_dir=folder), Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as client:
        yield client


PATHS = ("/voices", "/v1/voices/add", f"/v1/voices/{VOICE.voice_id}/edit")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"display_name": "Anna"}, "Anna"),
        ({"name": "Anna", "display_name": "Berta"}, "Anna"),
        ({"name": None, "display_name": " Anna  B. "}, "Anna B."),
        ({"name": "", "display_name": "Anna"}, "Anna"),
        ({"name": None, "display_name": None}, None),
    ],
)
def test_a_voice_is_named_by_its_display_name_too(
    service: TestClient, fields: dict[str, str | None], name: str | None
) -> None:
    assert Upload([], fields).name() == name
    given = {field: value for field, value in fields.items() if value is not None}
    as_form = service.post("/voices", data=given, files={"files": b"nothing"})
    as_json = service.post("/voices", json={**fields, "files": ["UklGRg=="]})
    for response in (as_form, as_json):
        assert response.status_code == (400 if name else 422)
        assert name is None or response.json()["detail"]["status"] == "not_audio"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "fields",
    [
        {"labels": [1, 2]},
        {"labels": 3},
        {"labels": True},
        {"labels": 0},
        {"labels": [["a", "b"]]},
        {"labels": {str(number): "x" for number in range(31)}},
        {"name": ["Anna"]},
        {"name": {}},
        {"description": 5},
        {"language": 7},
        {"consent": ["true"]},
        {"refine": {"a": "b"}},
        {"files": [1]},
        {"files": {"a": "b"}},
        {"file": "%%%"},
        {"files": ["AAAA"] * 26},
        {"file": "QUJD=QUJD"},
        {"description": "x" * 20_000},
        {"labels": {"a": "x" * 20_000}},
    ],
)
def test_json_fields_of_a_wrong_type(service: TestClient, path: str, fields: dict[str, Any]) -> None:
    response = service.post(path, json={"name": "Anna", "files": ["UklGRg=="], **fields})
    assert response.status_code == 422
    assert isinstance(response.json()["detail"], list)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "A", "labels": NaN, "files": ["UklGRg=="]}',
        b'{"name": "A", "labels": Infinity, "files": ["UklGRg=="]}',
        b'{"name": "A", "labels": {"n": ' + b"9" * 5000 + b'}, "files": ["UklGRg=="]}',
        b'{"name": "A", "consent": ' + b"[" * 900 + b"]" * 900 + b', "files": ["UklGRg=="]}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"name": "' + b"\\" * 20_001,
        b'{"name": "' + b"x" * 300_000,
        b"[" + b"[]," * 200_000 + b"[]]",
        "🙂".encode() * 40_000,
        '{"name": "A"}'.encode("utf-16") * 20_000,
        b"\xff\xfe\x00",
        b"nothing",
        b"null",
    ],
)
def test_malformed_json(service: TestClient, path: str, body: bytes) -> None:
    assert service.post(path, content=body, headers=JSON_TYPE).status_code in (413, 422)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "labels",
    [
        "{[]: 1}",
        "{{}: 1}",
        "{'a': {1, 2}}",
        "{'a': b'x'}",
        "{'a': 1j}",
        "{'a': ...}",
        "{'a': 0x" + "f" * 9000 + "}",
        "{'a': " + "-" * 9000 + "1}",
        "{0x" + "f" * 9000 + ": 1}",
        "{(1, 2): 3, None: 4, 1.5: 'x'}",
        "{'a': '\x00'}",
        "{'a': '\\ud800'}",
        "[1, 2]",
        "3",
        '"text"',
        "{" * 9_999,
        "-" * 9_999 + "1",
        "\x00",
    ],
)
def test_labels_that_are_no_dictionary(service: TestClient, path: str, labels: str) -> None:
    form = {"name": "Anna", "labels": labels}
    response = service.post(path, data=form, files={"files": ("x", b"nonsense")})
    assert response.status_code in (400, 422)
    assert service.post(path, data=form).status_code in (200, 422)


def make_form(*parts: tuple[str, str, bytes], boundary: bytes = b"x") -> bytes:
    """A form of parts with a name, further parameters of their disposition, and a content."""
    lines = []
    for name, parameters, content in parts:
        head = f'Content-Disposition: form-data; name="{name}"{parameters}'.encode()
        lines += [b"--" + boundary, head, b"", content]
    return b"\r\n".join([*lines, b"--" + boundary + b"--", b""])


NAME = ("name", "", b"Anna")
CLIP = ("files", '; filename="a.wav"', b"RIFF")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (make_form(NAME, ("name", "", b"Berta"), CLIP), 422),
        (make_form(NAME, ("consent", "", b"true"), ("consent", "", b"false"), CLIP), 422),
        (make_form(("name", '; filename="n.txt"', b"Anna"), CLIP), 422),
        (make_form(NAME, ("labels", '; filename="n.txt"', b"{}"), CLIP), 422),
        (make_form(*[("field", "", b"x")] * 1000), 400),
        (make_form(NAME, *[CLIP] * 1000), 400),
        (make_form(NAME, ("description", "", b"x" * 100_000), CLIP), 400),
        (make_form(NAME, CLIP).replace(b"--x", b"--y"), 400),
        (make_form(NAME, CLIP).replace(b"\r\n", b"\n"), 400),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--\r\n", 400),
        (b"--x\r\n\r\n\r\n--x--\r\n", 400),
        (b"--x\r\n" + b"A" * 100_000 + b": 1\r\n", 400),
        (make_form(NAME, CLIP)[:-8], 400),
        (make_form(NAME, CLIP)[:70], 400),
        (b"\r\n" * 10, 400),
        (b"", 400),
    ],
)
def test_malformed_forms(service: TestClient, path: str, body: bytes, status: int) -> None:
    assert service.post(path, content=body, headers=FORM_TYPE).status_code == status


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 5000,
        "multipart/form-data; boundary=\xff",
        "multipart/form-data; charset=nonsense; boundary=x",
        "multipart/form-data; boundary*=utf-8''x",
    ],
)
def test_strange_boundaries(service: TestClient, path: str, content_type: str) -> None:
    headers = {"content-type": content_type.encode("latin-1")}
    response = service.post(path, content=make_form(NAME, CLIP), headers=headers)  # type: ignore[arg-type]
    assert response.status_code in REFUSALS


@pytest.mark.parametrize("path", PATHS)
def test_text_in_place_of_a_recording(service: TestClient, path: str) -> None:
    response = service.post(path, content=make_form(NAME, ("files", "", b"RIFF")), headers=FORM_TYPE)
    assert response.status_code == (200 if path.endswith("edit") else 422)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
FIELD_NAMES = st.sampled_from(
    ["name", "description", "labels", "language", "consent", "refine", "file", "files", "files[]", "else"]
)
TOLERANT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@TOLERANT
@given(path=st.sampled_from(PATHS), body=st.dictionaries(FIELD_NAMES, VALUES) | VALUES)
def test_any_json(service: TestClient, path: str, body: Any) -> None:
    response = service.post(path, content=json.dumps(body), headers=JSON_TYPE)
    assert response.status_code in REFUSALS | ({200} if path.endswith("edit") else set())


@TOLERANT
@given(
    path=st.sampled_from(PATHS),
    parts=st.lists(
        st.tuples(
            FIELD_NAMES,
            st.sampled_from(["", '; filename="a"', '; filename=""', "; filename", '; name="twice"', ";;;="]),
            st.binary(max_size=50) | st.text(max_size=20).map(str.encode),
        ),
        max_size=8,
    ),
    cut=st.integers(0, 50),
)
def test_any_form(service: TestClient, path: str, parts: list[tuple[str, str, bytes]], cut: int) -> None:
    body = make_form(*parts)
    response = service.post(path, content=body[: len(body) - cut], headers=FORM_TYPE)
    assert response.status_code in REFUSALS | ({200} if path.endswith("edit") else set())


@TOLERANT
@given(path=st.sampled_from(PATHS), body=st.binary(max_size=200))
def test_any_bytes(service: TestClient, path: str, body: bytes) -> None:
    for content_type in (
        "application/json",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "multipart/mixed",
    ):
        response = service.post(path, content=body, headers={"content-type": content_type})
        assert response.status_code in REFUSALS | ({200} if path.endswith("edit") else set())


@given(clip=st.binary(max_size=300_000), cut=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_base64_in_blocks_is_what_it_is_in_one(clip: bytes, cut: int) -> None:
    clip = (clip + bytes(range(256))) * 50
    text = base64.b64encode(clip[: len(clip) - cut]).decode()
    for spelled in (text, f"data:audio/wav;base64,{text}", text.replace("/", "\\/").replace("+", "\\u002B")):
        body = f'{{"name": "\\"A\\\\", "files": ["{spelled}"]}}'.encode()
        parts = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
        assert parse_json(parts, 25, NAMES) == ([clip[: len(clip) - cut]], {"name": '"A\\'})


@pytest.mark.parametrize("wrong", ["=QUJD", "QQ==QUJD", "A", "*", "\\n", "é", "\\ud800"])
def test_wrong_base64_in_a_long_string(wrong: str) -> None:
    for text in ("QUJD" * 70_000 + wrong, wrong + "QUJD" * 70_000, "QUJD" * 70_000 + wrong + "QUJD" * 70_000):
        with pytest.raises(InvalidUpload):
            parse_json([f'{{"file": "{text}"}}'.encode()], 25, NAMES)


def test_long_strings_elsewhere_are_not_smuggled_in() -> None:
    long = "A" * 20_000
    for body in ({"name": long}, {"labels": {"a": long}}, {"file": [[long]]}, {"file": {"a": long}}):
        with pytest.raises(InvalidUpload):
            parse_json([json.dumps(body).encode()], 25, NAMES)
    with pytest.raises(BodyTooLarge):
        parse_json([json.dumps({"a": ["x"] * 100_000}).encode()], 25, NAMES)
    ignored = {"name": "A", "unknown": long, long: 1, "more": {"a": [long]}}
    assert parse_json([json.dumps(ignored).encode()], 25, NAMES) == ([], {"name": "A"})


def test_the_event_loop_runs_while_a_large_body_is_decoded() -> None:
    """Counts turns of the loop instead of seconds: decoding in one call would let it turn a few times only."""
    text = base64.b64encode(bytes(18_000_000))
    body = b'{"name": "A", "file": "' + text + b'"}'

    async def main() -> int:
        turns = 0
        decoding = asyncio.create_task(asyncio.to_thread(parse_json, [body], 25, NAMES))
        while not decoding.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert decoding.result()[0] == [bytes(18_000_000)]
        return turns

    assert asyncio.run(main()) > 15


class _Body:
    """The parts of a body; notes how many of them were read."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts
        self.read = 0

    async def receive(self) -> dict[str, Any]:
        self.read += 1
        last = self.read >= len(self._parts)
        return {
            "type": "http.request",
            "body": self._parts[min(self.read, len(self._parts)) - 1],
            "more_body": not last,
        }


def post_in_parts(app: Any, path: str, body: _Body) -> int:
    """Sends a request as the server would; returns the status."""
    statuses = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [(b"content-type", FORM_TYPE["content-type"].encode()), (b"host", b"localhost")]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
    }
    scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "server": ("localhost", 80)}
    scope |= {"client": ("127.0.0.1", 1), "root_path": "", "app": app, "state": {}}
    asyncio.run(app(scope, body.receive, send))
    return int(statuses[0])


def make_large_form(*first: tuple[str, str, bytes]) -> _Body:
    form = make_form(*first, ("files", '; filename="a.wav"', b"RIFF" * 250_000))
    return _Body(*(form[at : at + 10_000] for at in range(0, len(form), 10_000)))


@pytest.mark.parametrize(
    ("path", "first", "status"),
    [
        ("/voices", [("name", "", b"")], 422),
        ("/voices", [NAME, ("labels", "", b"{1: {2}}")], 422),
        ("/voices", [NAME, ("consent", "", b"false")], 403),
        (f"/v1/voices/{VOICE.voice_id}/edit", [("language", "", b"klingon")], 422),
        ("/v1/voices/custom-00000000000000000000/edit", [NAME], 404),
        ("/v1/voices/af_heart/edit", [NAME], 400),
    ],
)
def test_what_is_wrong_is_refused_before_the_recordings_are_read(
    phonemizer: Phonemizer, tmp_path: Path, path: str, first: list[tuple[str, str, bytes]], status: int
) -> None:
    VoiceStore(tmp_path / "voices", track_uploads=False).add(VOICE, None, limit=10)
    chosen = Settings(data_dir=tmp_path, require_consent=True)
    app = create_app(chosen, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder)
    with TestClient(app) as client:
        while client.get("/health").status_code != 200:
            time.sleep(0.01)
        body = make_large_form(*first)
        assert post_in_parts(app, path, body) == status
        assert body.read <= 2


def test_a_full_or_loading_server_reads_no_recordings(phonemizer: Phonemizer, tmp_path: Path) -> None:
    for limit, status in ((0, 400), (5, 503)):
        chosen = Settings(data_dir=tmp_path, max_custom_voices=limit)
        app = create_app(chosen, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder)  # not started
        for path in PATHS[:2]:
            body = make_large_form(NAME)
            assert post_in_parts(app, path, body) == status
            assert body.read == 0


def test_an_upload_that_breaks_off_is_not_logged_as_an_error(
    service: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    class Vanishing(_Body):
        async def receive(self) -> dict[str, Any]:
            message = await super().receive()
            return message if self.read < 3 else {"type": "http.disconnect"}

    form = make_form(NAME, CLIP)
    with caplog.at_level(logging.ERROR):
        assert post_in_parts(service.app, PATHS[2], Vanishing(form[:20], form[20:40], form[40:])) == 400
    assert "Traceback" not in caplog.text
