"""Requests for refinement: over HTTP, by the setting and on the command line."""

import base64
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from svc.cloning import refinement
from svc.cloning.trial import LoadSpeakerEncoder
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.cli.test_voices import run
from tests.cloning.fakes import StyleEchoEngine, load_outdated_encoder, load_style_encoder
from tests.conftest import serve_ready

Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path) -> Serve:
    def serve(encoder: LoadSpeakerEncoder = load_style_encoder, **settings: Any) -> AbstractContextManager[TestClient]:
        given: dict[str, Any] = {"refine_voices": False} | settings
        if given["refine_voices"] is None:  # the default
            del given["refine_voices"]
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **given)
        return serve_ready(chosen, Pipeline(StyleEchoEngine(), phonemizer), encoder)

    return serve


@pytest.fixture
def without_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued voices stay queued: the worker does not poll again."""
    monkeypatch.setattr(refinement, "_POLL_SECONDS", 3_600.0)


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_REST", 0.0)
    monkeypatch.setattr(refinement, "_POLL_SECONDS", 0.01)


def clone(client: TestClient, wav: bytes, path: str = "/voices", **fields: str) -> str:
    response = client.post(path, data={"name": "Anna", **fields}, files={"files": ("x", wav)})
    assert response.status_code == 200, response.text
    return str(response.json()["voice_id"])


def cloning(client: TestClient, voice_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/voices/{voice_id}").json()["cloning"]
    return found


def wait_until_refined(client: TestClient, voice_id: str) -> dict[str, Any]:
    """The `cloning` fields of the voice, once it is not queued any more."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (found := cloning(client, voice_id))["refinement_progress"] is None:
            return found
        time.sleep(0.02)
    raise AssertionError("the refinement does not end")


def edit(client: TestClient, voice_id: str, *recordings: bytes, **fields: str) -> Any:
    files = [("files", ("x", recording)) for recording in recordings]
    return client.post(f"/v1/voices/{voice_id}/edit", data={"name": "Anna", **fields}, files=files)


@pytest.mark.usefixtures("without_pauses")
def test_a_voice_of_an_older_release_is_replaced(serve: Serve, wav: bytes) -> None:
    with serve(load_outdated_encoder) as client:
        voice_id = clone(client, wav)
        path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
        before, as_cloned = client.post(path, json={"text": "Hello."}).content, cloning(client, voice_id)
        assert (as_cloned["refined"], as_cloned["revision"]) == (False, 1)
    with serve() as client:
        assert edit(client, voice_id, refine="true").json() == {"status": "ok"}
        after = wait_until_refined(client, voice_id)
        assert after["refined"]
        assert after["revision"] > as_cloned["revision"]
        assert after["similarity"] > as_cloned["similarity"]
        assert client.post(path, json={"text": "Hello."}).content != before


@pytest.mark.usefixtures("without_pauses")
def test_a_voice_of_the_installed_encoder_stays_as_it_is(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        voice_id = clone(client, wav, refine="true")
        after = wait_until_refined(client, voice_id)
        assert (after["refined"], after["revision"]) == (False, 1)


@pytest.mark.usefixtures("without_pauses")
def test_a_queued_voice_survives_a_restart(serve: Serve, wav: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(refinement, "_POLL_SECONDS", 3_600.0)
        with serve(load_outdated_encoder, refine_voices=True) as client:
            voice_id = clone(client, wav)
            assert cloning(client, voice_id)["refinement_progress"] == 0
    with serve() as client:
        assert wait_until_refined(client, voice_id)["refined"]


@pytest.mark.usefixtures("without_worker")
@pytest.mark.parametrize(
    ("setting", "requests", "expected"),
    [
        (False, {"true": "/voices", "1": "/v1/voices/add"}, 0),
        (False, {"": "/voices", "maybe": "/v1/voices/add"}, None),
        (True, {"": "/voices", "null": "/v1/voices/add"}, 0),
        (True, {"false": "/voices"}, None),
    ],
)
def test_requested_in_a_form_or_by_the_setting(
    serve: Serve, wav: bytes, setting: bool, requests: dict[str, str], expected: float | None
) -> None:
    with serve(refine_voices=setting) as client:
        for flag, path in requests.items():
            voice_id = clone(client, wav, path, refine=flag)
            assert cloning(client, voice_id)["refinement_progress"] == expected


@pytest.mark.usefixtures("without_worker")
def test_english_voices_are_refined_by_default(serve: Serve, wav: bytes) -> None:
    with serve(refine_voices=None) as client:
        for language, expected in (("", 0), ("en-GB", 0), ("de", None), ("pt-BR", None)):
            voice_id = clone(client, wav, language=language)
            assert cloning(client, voice_id)["refinement_progress"] == expected, language


@pytest.mark.usefixtures("without_worker")
def test_without_recordings_nothing_is_refined_by_default(serve: Serve, wav: bytes) -> None:
    with serve(refine_voices=None, keep_references=False) as client:
        assert cloning(client, clone(client, wav))["refinement_progress"] is None


@pytest.mark.usefixtures("without_worker")
def test_requested_in_json(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        for refine, expected in ((True, 0), (None, None)):
            body = {"name": "Anna", "file": base64.b64encode(wav).decode(), "refine": refine}
            voice = client.post("/voices", json=body).json()
            assert voice["cloning"]["refinement_progress"] == expected
            assert voice in client.get("/v1/voices").json()["voices"]


@pytest.mark.usefixtures("without_worker")
def test_requested_later_and_cancelled(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        voice_id = clone(client, wav)
        for fields, expected in (
            ({"refine": "true"}, 0),
            ({"description": "Warm."}, 0),
            ({"refine": "false"}, None),
            ({"description": "Cold."}, None),
        ):
            assert edit(client, voice_id, **fields).status_code == 200
            assert cloning(client, voice_id)["refinement_progress"] == expected


@pytest.mark.usefixtures("without_worker")
def test_a_further_recording_queues_a_voice_again_that_was_queued(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        queued, other = clone(client, wav, refine="true"), clone(client, wav)
        for voice_id, expected in ((queued, 0), (other, None)):
            assert edit(client, voice_id, wav).status_code == 200
            assert cloning(client, voice_id)["refinement_progress"] == expected


@pytest.mark.usefixtures("without_worker")
def test_a_voice_without_its_recording_cannot_be_refined(serve: Serve, wav: bytes) -> None:
    with serve(keep_references=False) as client:
        refused = client.post("/voices", data={"name": "Anna", "refine": "true"}, files={"files": ("x", wav)})
        assert (refused.status_code, refused.json()["detail"]["status"]) == (400, "no_reference")
        assert client.get("/v2/voices?category=cloned").json()["voices"] == []
        voice_id = clone(client, wav)
        for further in ([], [wav]):
            refused = edit(client, voice_id, *further, refine="true")
            assert (refused.status_code, refused.json()["detail"]["status"]) == (400, "no_reference")
        assert cloning(client, voice_id)["revision"] == 1


def test_the_setting_is_refused_if_references_are_not_kept() -> None:
    with pytest.raises(ValidationError, match="SVC_KEEP_REFERENCES"):
        Settings(keep_references=False, refine_voices=True)


@pytest.mark.usefixtures("without_worker")
def test_a_voice_is_kept_even_if_it_cannot_be_queued(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    with serve() as client:
        (tmp_path / "data/voices").mkdir(parents=True)
        (tmp_path / "data/voices/refining").write_bytes(b"in the way")
        assert cloning(client, clone(client, wav, refine="true"))["refinement_progress"] is None


@pytest.mark.usefixtures("without_pauses")
def test_requested_on_the_command_line(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    """A server refines it, once one runs."""
    (tmp_path / "clip").write_bytes(wav)
    added = run(tmp_path, "add", "Anna", "clip", "--refine")
    assert added.returncode == 0, added.stderr
    assert "refine" in added.stderr
    with serve() as client:
        assert wait_until_refined(client, added.stdout.strip())["refined"]
