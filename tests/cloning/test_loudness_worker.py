"""Voices of an earlier release are measured in the background, and new ones when they are made."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from svc.cloning import loudness_worker
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.custom_voice import CustomVoice
from svc.voices.store import VoiceStore
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import serve_ready
from tests.voices.examples import make_voice

Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "data/voices")


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    monkeypatch.setattr(loudness_worker, "_POLL_SECONDS", 0.02)

    def serve(**settings: Any) -> AbstractContextManager[TestClient]:
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **settings)
        return serve_ready(chosen, Pipeline(FakeEngine(), phonemizer), load_fake_encoder)

    return serve


def wait_until_measured(store: VoiceStore, voice_id: str, language: Language) -> CustomVoice:
    deadline = time.monotonic() + 120
    while not (voice := store.read(voice_id)).parameters.is_measured_in(language):
        assert time.monotonic() < deadline, "the voice is not measured"
        time.sleep(0.02)
    return voice


def test_a_voice_of_an_earlier_release_is_measured(serve: Serve, store: VoiceStore) -> None:
    old = make_voice()
    store.add(old, b"reference")
    with serve():
        voice = wait_until_measured(store, old.voice_id, Language.FRENCH)
    assert voice.parameters_hash == old.parameters_hash
    assert (voice.revision, voice.reference) == (1, old.reference)
    assert voice.version > old.version, "other regions get it"


def test_a_new_voice_is_measured_when_it_is_made_and_in_other_languages_once_it_speaks_them(
    serve: Serve, store: VoiceStore, wav: bytes
) -> None:
    with serve() as client:
        response = client.post("/voices", data={"name": "Anna"}, files={"files": ("x", wav)})
        voice_id = response.json()["voice_id"]
        assert list(store.read(voice_id).parameters.loudness) == [Language.ENGLISH_US]
        for text in ("Hello.", "Where is the library?"):
            client.post(f"/v1/text-to-speech/{voice_id}", json={"text": text})
        time.sleep(0.3)
        assert list(store.read(voice_id).parameters.loudness) == [Language.ENGLISH_US]
        client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Dónde está la biblioteca?", "language_code": "es"})
        voice = wait_until_measured(store, voice_id, Language.SPANISH)
        assert voice.revision == 1
        assert client.get(f"/v1/voices/{voice_id}").json() == response.json()


def test_a_kept_mix_of_built_in_voices_is_not_measured(serve: Serve, store: VoiceStore) -> None:
    mix = make_voice(reference=None)
    mix = replace(mix, blend=(("af_bella", 0.5), ("af_sky", 0.5)))
    store.add(mix, None)
    with serve():
        time.sleep(0.5)
        assert store.read(mix.voice_id).revision == 1


def test_a_voice_that_is_silent_is_tried_once(serve: Serve, store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(*_: object) -> float:
        measured.append(1)
        return -70.0

    monkeypatch.setattr("svc.cloning.trial.measure_clone", measure)
    old = make_voice()
    store.add(old, b"reference")
    with serve():
        deadline = time.monotonic() + 120
        while not measured:
            assert time.monotonic() < deadline, "it is not tried"
            time.sleep(0.02)
        time.sleep(0.5)
    assert len(measured) == 1
    assert store.read(old.voice_id).revision == 1
