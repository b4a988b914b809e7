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


def wait_until_measured(store: VoiceStore, voice_id: str) -> CustomVoice:
    deadline = time.monotonic() + 120
    while (voice := store.read(voice_id)).parameters.loudness is None:
        assert time.monotonic() < deadline, "the voice is not measured"
        time.sleep(0.02)
    return voice


def test_a_voice_of_an_earlier_release_is_measured(serve: Serve, store: VoiceStore) -> None:
    old = make_voice()
    store.add(old, b"reference")
    with serve() as client:
        voice = wait_until_measured(store, old.voice_id)
        assert voice.parameters_hash == old.parameters_hash
        assert (voice.revision, voice.reference) == (2, old.reference)
        path = f"/v1/text-to-speech/{old.voice_id}?output_format=pcm_24000"
        while client.get(f"/v1/voices/{old.voice_id}").json()["cloning"]["revision"] == 1:
            time.sleep(0.02)
        assert client.post(path, json={"text": "Hello."}).status_code == 200
        time.sleep(0.2)
        assert store.read(old.voice_id).revision == 2, "it is measured once"


def test_a_new_voice_is_measured_when_it_is_made(serve: Serve, store: VoiceStore, wav: bytes) -> None:
    with serve() as client:
        response = client.post("/voices", data={"name": "Anna"}, files={"files": ("x", wav)})
        voice = store.read(response.json()["voice_id"])
        assert voice.revision == 1
        assert voice.parameters.loudness is not None
        assert -60 < voice.parameters.loudness < 0


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

    monkeypatch.setattr("svc.cloning.trial.measure_loudness", measure)
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
