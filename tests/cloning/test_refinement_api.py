"""Refinement as it is asked for: over HTTP, by the settings and on the command line."""

import base64
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from svc.cloning import refinement as refinement_worker
from svc.cloning import search
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.cli.test_voices import run
from tests.cloning.fakes import TellingEngine, load_believing
from tests.conftest import ready

Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path) -> Serve:
    def serve(**settings: Any) -> AbstractContextManager[TestClient]:
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **settings)
        return ready(chosen, Pipeline(TellingEngine(), phonemizer), load_believing)

    return serve


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for stays to be seen."""
    monkeypatch.setattr(refinement_worker, "_LOOK_EVERY", 3_600.0)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "GENERATIONS", 4)
    monkeypatch.setattr(refinement_worker, "_REST", 0.0)
    monkeypatch.setattr(refinement_worker, "_LOOK_EVERY", 0.01)


def clone(client: TestClient, wav: bytes, path: str = "/voices", **fields: str) -> str:
    response = client.post(path, data={"name": "Anna", **fields}, files={"files": ("x", wav)})
    assert response.status_code == 200, response.text
    return str(response.json()["voice_id"])


def cloning(client: TestClient, voice_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/voices/{voice_id}").json()["cloning"]
    return found


def settled(client: TestClient, voice_id: str) -> dict[str, Any]:
    """How the voice was made, once it is no longer being refined."""
    for _ in range(3_000):  # a minute or more, and not for ever
        if (found := cloning(client, voice_id))["refinement_progress"] is None:
            return found
        time.sleep(0.02)
    raise AssertionError("it never ends")


def edit(client: TestClient, voice_id: str, *recordings: bytes, **fields: str) -> Any:
    files = [("files", ("x", recording)) for recording in recordings]
    return client.post(f"/v1/voices/{voice_id}/edit", data={"name": "Anna", **fields}, files=files)


@pytest.mark.usefixtures("at_once")
def test_the_new_version_takes_the_place_of_the_old_one(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        voice_id = clone(client, wav, refine="false")
        path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
        before, as_cloned = client.post(path, json={"text": "Hello."}).content, cloning(client, voice_id)
        assert (as_cloned["refined"], as_cloned["revision"]) == (False, 1)
        assert edit(client, voice_id, refine="true").json() == {"status": "ok"}
        after = settled(client, voice_id)
        assert after["refined"]
        assert after["revision"] > as_cloned["revision"]
        assert after["similarity"] > as_cloned["similarity"]
        assert client.post(path, json={"text": "Hello."}).content != before


@pytest.mark.usefixtures("at_once")
def test_a_restart_goes_on(serve: Serve, wav: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(refinement_worker, "_LOOK_EVERY", 3_600.0)
        with serve(refine_voices=True) as client:
            voice_id = clone(client, wav)
    with serve() as client:
        assert settled(client, voice_id)["refined"]


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize(
    ("setting", "asked", "expected"),
    [
        (False, {"true": "/voices", "1": "/v1/voices/add"}, 0),
        (False, {"": "/voices", "maybe": "/v1/voices/add"}, None),
        (True, {"": "/voices", "null": "/v1/voices/add"}, 0),
        (True, {"false": "/voices"}, None),
    ],
)
def test_asked_for_by_request_or_setting(
    serve: Serve, wav: bytes, setting: bool, asked: dict[str, str], expected: float | None
) -> None:
    with serve(refine_voices=setting) as client:
        for flag, path in asked.items():
            voice_id = clone(client, wav, path, refine=flag)
            assert cloning(client, voice_id)["refinement_progress"] == expected


@pytest.mark.usefixtures("never")
def test_asked_for_in_json(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        for asked, expected in ((True, 0), (None, None)):
            body = {"name": "Anna", "file": base64.b64encode(wav).decode(), "refine": asked}
            voice = client.post("/voices", json=body).json()
            assert voice["cloning"]["refinement_progress"] == expected
            assert voice in client.get("/v1/voices").json()["voices"]


@pytest.mark.usefixtures("never")
def test_asked_for_later_and_called_off(serve: Serve, wav: bytes) -> None:
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


@pytest.mark.usefixtures("never")
def test_a_further_recording_begins_anew(serve: Serve, wav: bytes) -> None:
    """It made the voice anew: what was found for the one before is of no use, and the wish remains."""
    with serve() as client:
        wanted, other = clone(client, wav, refine="true"), clone(client, wav)
        for voice_id, expected in ((wanted, 0), (other, None)):
            assert edit(client, voice_id, wav).status_code == 200
            assert cloning(client, voice_id)["refinement_progress"] == expected


@pytest.mark.usefixtures("never")
def test_without_its_recording_a_voice_cannot_be_refined(serve: Serve, wav: bytes) -> None:
    with serve(keep_references=False) as client:
        refused = client.post("/voices", data={"name": "Anna", "refine": "true"}, files={"files": ("x", wav)})
        assert (refused.status_code, refused.json()["detail"]["status"]) == (400, "no_reference")
        assert client.get("/v2/voices?category=cloned").json()["voices"] == []
        voice_id = clone(client, wav)
        for further in ([], [wav]):
            refused = edit(client, voice_id, *further, refine="true")
            assert (refused.status_code, refused.json()["detail"]["status"]) == (400, "no_reference")
        assert cloning(client, voice_id)["revision"] == 1


def test_a_setting_that_could_do_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="SVC_KEEP_REFERENCES"):
        Settings(keep_references=False, refine_voices=True)


@pytest.mark.usefixtures("never")
def test_where_the_wish_cannot_be_kept_the_voice_is(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    with serve() as client:
        (tmp_path / "data/voices").mkdir(parents=True)
        (tmp_path / "data/voices/refining").write_bytes(b"in the way")
        assert cloning(client, clone(client, wav, refine="true"))["refinement_progress"] is None


@pytest.mark.usefixtures("at_once")
def test_asked_for_on_the_command_line(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    """A server does it, once there is one."""
    (tmp_path / "clip").write_bytes(wav)
    added = run(tmp_path, "add", "Anna", "clip", "--refine")
    assert added.returncode == 0, added.stderr
    assert "refine" in added.stderr
    with serve() as client:
        assert settled(client, added.stdout.strip())["refined"]
