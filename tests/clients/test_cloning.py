"""Voices cloned, changed, heard and removed with unmodified client libraries."""

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.audio.recordings import encode_recording
from tests.clients.conftest import KEY, Report, drive, serving, wait_until_ready
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import STORY


@pytest.fixture(scope="module")
def cloned(
    phonemizer: Phonemizer, say: Callable[..., Samples], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Report]:
    folder = tmp_path_factory.mktemp("cloning")
    clip = folder / "clip"  # without an ending that would tell what it is
    clip.write_bytes(encode_recording(say(STORY), "mp3"))

    @cache
    def cloned(client_name: str) -> Report:
        settings = Settings(api_key=KEY, data_dir=folder / client_name)
        app = create_app(settings, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder)
        with serving(app) as address:
            wait_until_ready(address)
            return drive(f"cloning_{client_name}", address, voice=str(clip))  # the driver takes it for the clip

    return cloned


@pytest.fixture
def report(client_name: str, cloned: Callable[[str], Report]) -> Report:
    return cloned(client_name)


def test_the_voice_is_there(report: Report) -> None:
    voice = report.get_result("voice")
    assert voice["voice_id"].startswith("custom-")
    assert (voice["name"], voice["description"], voice["category"]) == ("Anna", "Warm.", "cloned")
    assert voice["labels"] == {"language": "en", "accent": "irish"}
    added = report.get_result("added")
    assert added["voice_id"].startswith("custom-")
    assert added.get("requires_verification", False) is False


def test_it_is_changed(report: Report) -> None:
    edited = report.get_result("edited")
    assert (edited["name"], edited["description"]) == ("Berta", "Warm.")
    assert edited["labels"]["accent"] == "welsh"
    if "unlabelled" in report.outcomes:
        assert report.get_result("unlabelled") == {"status": "ok"}


def test_it_speaks(report: Report) -> None:
    spoken = base64.b64decode(report.get_result("spoken"))
    assert len(spoken) / 2 / 24_000 > 2
    if "by_name" in report.outcomes:
        assert len(base64.b64decode(report.get_result("by_name"))) == len(spoken)


def test_it_is_listed_until_it_is_removed(report: Report) -> None:
    assert "Berta" in report.get_result("listed")
    report.get_result("removed")
    assert "Berta" not in report.get_result("listed_after")


@pytest.mark.parametrize(
    ("call", "http_status", "status"),
    [
        ("removed_again", 404, "voice_not_found"),
        ("built_in", 400, "built_in_voice"),
        ("not_audio", 400, "not_audio"),
    ],
)
def test_errors(report: Report, client_name: str, call: str, http_status: int, status: str) -> None:
    error: dict[str, Any] = report.get_error(call)
    if client_name == "python_0":
        assert error["status"] == status
        return
    assert error["status_code"] == http_status
    assert error["body"]["detail"]["status"] == status
