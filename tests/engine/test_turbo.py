"""svc-turbo: its windows do not show, and it speaks like the model that it comes from."""

import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from svc.engine import turbo, weights
from svc.engine.kokoro import KokoroEngine
from svc.engine.protocol import Samples, Utterance
from svc.engine.turbo import TurboEngine
from svc.engine.windows import Window, between_words
from svc.errors import EngineUnavailable
from svc.voices.catalogue import VoiceCatalogue

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət, ænd ðə bˈOts pˈʊld æt ðɛɹ ɹˈOps."


@pytest.fixture(scope="module")
def engine() -> TurboEngine:
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=2)
    engine.load()
    return engine


def _spoken(engine: TurboEngine | KokoroEngine, utterance: Utterance) -> Samples:
    return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])


def test_streamed_samples_are_those_of_the_whole(
    engine: TurboEngine, voices: VoiceCatalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    utterance = Utterance(PHONEMES, voices.default.style)
    streamed = _spoken(engine, utterance)
    assert len(list(engine.synthesize(utterance))) >= 3
    monkeypatch.setattr(
        turbo, "between_words", lambda phonemes, starts: [Window(0, len(phonemes), int(starts[0]), int(starts[-1]))]
    )
    whole = _spoken(engine, utterance)
    assert len(whole) == len(streamed)
    assert np.abs(whole - streamed).max() < 1e-3 * np.abs(whole).max()


def test_it_says_what_its_teacher_says(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    teacher = KokoroEngine(lambda: weights.load(None, "", Path()), threads=2)
    teacher.load()
    utterance = Utterance(PHONEMES, voices.find("bm_george").style)
    student, original = _spoken(engine, utterance), _spoken(teacher, utterance)
    assert len(student) == len(original)

    def loudness(samples: Samples) -> Samples:
        frames = samples[: len(samples) // 600 * 600].reshape(-1, 600)
        levels: Samples = np.log(np.sqrt((frames**2).mean(axis=1)) + 1e-3)
        return levels

    assert np.corrcoef(loudness(student), loudness(original))[0, 1] > 0.9


def test_windows_grow_and_cut_between_words() -> None:
    phonemes = "word " * 60
    starts = np.arange(len(phonemes) + 1) * 8
    found = list(between_words(phonemes, starts))
    assert found[0].end - found[0].start < 100
    assert all(phonemes[window.last - 1] == " " for window in found)
    assert "".join(phonemes[window.first : window.last] for window in found) == phonemes
    assert max(window.end - window.start for window in found) <= 400


def test_damaged_head_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hashlib.sha256(files("svc").joinpath(turbo.HEAD).read_bytes()).hexdigest() == turbo.HEAD_SHA256
    monkeypatch.setattr(turbo, "HEAD_SHA256", "0" * 64)
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=1)
    with pytest.raises(EngineUnavailable, match=r"turbo-head\.onnx is damaged.*0000"):
        engine.load()
