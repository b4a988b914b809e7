"""`/readyz` shows how the background work is doing, whatever that does."""

import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.custom_voices import CustomVoices
from tests.conftest import serve_ready


def test_the_background_tasks_are_shown(client: TestClient) -> None:
    shown = client.get("/readyz").json()
    assert shown["status"] == "ready"
    assert {"voice_refresh", "voice_settings", "refinement"} <= shown["background"].keys()
    for task in shown["background"].values():
        assert (task["state"], task["failures"], task["error"]) == ("running", 0, None)


def test_a_task_that_fails_is_shown_and_the_service_stays_ready(
    tmp_path: Path, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)
    app = create_app(settings, Pipeline(FakeEngine(), phonemizer))

    def fail(_: CustomVoices) -> None:
        raise RuntimeError("postgresql://user:secret@host is gone")

    monkeypatch.setattr(CustomVoices, "refresh", fail)
    with TestClient(app) as client:
        deadline = time.monotonic() + 60
        while client.get("/health").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        while not (task := client.get("/readyz").json()["background"]["voice_refresh"])["failures"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        shown = client.get("/readyz")
        assert shown.status_code == 200
        assert task["error"] == "RuntimeError"
        assert "secret" not in shown.text


def test_the_mirror_is_shown_while_it_works(tmp_path: Path, phonemizer: Phonemizer) -> None:
    settings = Settings(data_dir=tmp_path / "data", voice_mirror=(tmp_path / "objects").as_uri())
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        shown = client.get("/readyz").json()
        assert shown["voice_mirror"]["waiting"] == 0
        assert {"voice_fetch", "voice_upload", "voice_lag"} <= shown["background"].keys()
        (tmp_path / "data/voices/outbox").mkdir(parents=True, exist_ok=True)
        for path in ("/readyz", "/metrics"):
            assert client.get(path).status_code == 200


def test_settings_on_a_full_disk_are_503(tmp_path: Path, phonemizer: Phonemizer) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.voice-settings.lock").mkdir()  # it cannot be opened
    with serve_ready(Settings(data_dir=tmp_path / "data"), Pipeline(FakeEngine(), phonemizer)) as client:
        refused = client.post("/v1/voices/af_heart/settings/edit", json={"speed": 1.5})
        assert (refused.status_code, refused.json()["detail"]["status"]) == (503, "storage_unavailable")


@pytest.mark.parametrize("content", ['{"x": {"speed": "fast", "warmth": 1}}', "{", '{"x": 3}'])
def test_a_damaged_settings_file_stops_neither_start_nor_list(
    content: str, tmp_path: Path, phonemizer: Phonemizer
) -> None:
    (tmp_path / "voice-settings.json").write_text(content.replace("x", "af_heart"))
    with serve_ready(Settings(data_dir=tmp_path), Pipeline(FakeEngine(), phonemizer)) as client:
        assert client.get("/v1/voices").status_code == 200
