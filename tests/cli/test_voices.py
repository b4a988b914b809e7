"""`svc voices`, run as people run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from svc.audio.samples import Samples
from svc.cloning.refinement_queue import STEPS, Refinement, RefinementQueue
from svc.voices.store import VoiceStore
from tests.audio.recordings import encode_recording
from tests.voices.examples import make_voice

SVC = str(Path(sys.executable).with_name("svc"))


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "data/voices")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SVC_DATA_DIR": str(folder / "data"), **variables}
    return subprocess.run(
        [SVC, "voices", *arguments], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def fails(result: subprocess.CompletedProcess[str], *expected: str) -> None:
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    # The message may be wrapped into a frame.
    plain = " ".join(result.stderr.replace("│", " ").split())
    assert all(part in plain for part in expected), plain


def test_list(tmp_path: Path, store: VoiceStore) -> None:
    voice = make_voice("Anna [bold]")
    store.add(voice, b"reference")
    for command in ([], ["list"]):
        everyone = json.loads(run(tmp_path, *command, "--json").stdout)
        assert len(everyone) == 55
        assert [each["name"] for each in everyone if each["category"] == "cloned"] == ["Anna [bold]"]
        assert "Anna [bold]" in run(tmp_path, *command).stdout
        french = json.loads(run(tmp_path, *command, "--json", "-l", "fr").stdout)
        assert {each["name"] for each in french} == {"Siwis", "Anna [bold]"}


def test_the_list_tells_how_far_refinement_is(tmp_path: Path, store: VoiceStore) -> None:
    waiting, other = make_voice("Anna"), make_voice("Bert")
    for voice in (waiting, other):
        store.add(voice, b"reference")
    queue = RefinementQueue(tmp_path / "data/voices/refining")
    queue.add(waiting)
    queue.update(Refinement(waiting.voice_id, waiting.parameters_hash, steps_done=STEPS // 2))
    listed = {each["name"]: each["refinement_progress"] for each in json.loads(run(tmp_path, "list", "--json").stdout)}
    assert (listed["Bert"], listed["Heart"]) == (None, None)
    assert 0.4 < listed["Anna"] < 0.6
    assert f"{listed['Anna']:.0%}" in run(tmp_path, "list").stdout


def test_add(tmp_path: Path, store: VoiceStore, spoken: Samples) -> None:
    """With the real encoder and the real engine."""
    (tmp_path / "clip").write_bytes(encode_recording(spoken, "mp3"))
    added = run(tmp_path, "add", "Anna", "clip", "clip", "--label", "accent=irish", "-l", "en-GB", "--consent")
    assert added.returncode == 0, added.stderr
    voice = store.read(added.stdout.strip())
    assert (voice.name, voice.labels, voice.language, voice.consent) == ("Anna", {"accent": "irish"}, "en-gb", True)
    assert "Similarity" in added.stderr
    assert voice.report.measured.clip_seconds > 20
    fails(run(tmp_path, "add", "Anna", "data/voices/.lock"), "no audio")


def test_remove(tmp_path: Path, store: VoiceStore) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    assert run(tmp_path, "remove", voice.voice_id).returncode == 0
    assert store.signatures() == {}
    fails(run(tmp_path, "remove", voice.voice_id), voice.voice_id)
    fails(run(tmp_path, "remove", "af_heart"), "Heart")
    fails(run(tmp_path, "remove", "nobody"), "nobody")


def test_export_and_import(tmp_path: Path, store: VoiceStore) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    assert run(tmp_path, "export", voice.voice_id, "-o", "anna.svcvoice").returncode == 0
    assert run(tmp_path, "export", voice.voice_id, "-o", "bare.svcvoice", "--without-reference").returncode == 0
    fails(run(tmp_path, "import", "anna.svcvoice"), "already exists")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    imported = run(elsewhere, "import", "../anna.svcvoice")
    assert imported.stdout.strip() == voice.voice_id
    other = VoiceStore(elsewhere / "data/voices")
    assert other.read(voice.voice_id).to_bytes() == voice.to_bytes()
    assert other.read_reference(voice) == b"reference"
    store.remove(voice.voice_id)
    again = run(tmp_path, "import", "bare.svcvoice")
    assert again.stdout.startswith("custom-")
    assert again.stdout.strip() != voice.voice_id
    assert store.read(again.stdout.strip()).reference is None


def test_what_cannot_be_done(tmp_path: Path, store: VoiceStore) -> None:
    (tmp_path / "x.svcvoice").write_bytes(b"nonsense")
    fails(run(tmp_path, "import", "x.svcvoice"), "not the archive of a voice")
    fails(run(tmp_path, "import", "missing.svcvoice"), "missing.svcvoice")
    fails(run(tmp_path, "export", make_voice().voice_id, "-o", "x"), "not found")
    fails(run(tmp_path, "add", "Anna", "missing.wav"), "missing.wav")
    fails(run(tmp_path, "add", " ", "missing.wav"), "name")
    fails(run(tmp_path, "add", "Anna", "x.svcvoice", "--label", "irish"), "accent=irish")
    fails(run(tmp_path, "add", "Anna", "x.svcvoice", "-l", "klingon"), "klingon")
    fails(run(tmp_path, "add", "Anna", "x.svcvoice", SVC_REQUIRE_CONSENT="1", SVC_ENGINE="fake"), "consent")
    fails(run(tmp_path, "add", "Anna", "x.svcvoice", SVC_MAX_CUSTOM_VOICES="0", SVC_ENGINE="fake"), "limit of 0")
    fails(run(tmp_path, SVC_VOICE_MIRROR="ftp://x"), "SVC_VOICE_MIRROR")
