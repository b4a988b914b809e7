"""svc-turbo: its windows make the audio of the whole utterance, and it speaks like the model it was distilled from."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from svc.engine import turbo, weights
from svc.engine.kokoro import KokoroEngine
from svc.engine.protocol import Samples, Utterance
from svc.engine.turbo import TurboEngine
from svc.engine.windows import Window
from svc.errors import EngineUnavailable
from svc.voices.catalogue import VoiceCatalogue

pytestmark = pytest.mark.real

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət, ænd ðə bˈOts pˈʊld æt ðɛɹ ɹˈOps."


@pytest.fixture(scope="module")
def engine() -> TurboEngine:
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=2)
    engine.load()
    return engine


def synthesize(engine: TurboEngine | KokoroEngine, utterance: Utterance) -> Samples:
    return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])


def test_windows_make_the_samples_of_the_whole_utterance(
    engine: TurboEngine, voices: VoiceCatalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    utterance = Utterance(PHONEMES, voices.default.style)
    streamed = synthesize(engine, utterance)
    assert len(list(engine.synthesize(utterance))) >= 3
    monkeypatch.setattr(
        turbo, "split_at_words", lambda phonemes, starts: [Window(0, len(phonemes), int(starts[0]), int(starts[-1]))]
    )
    whole = synthesize(engine, utterance)
    assert len(whole) == len(streamed)
    assert np.abs(whole - streamed).max() < 1e-3 * np.abs(whole).max()


def test_utterances_in_several_threads_sound_as_alone(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    utterances = [Utterance(PHONEMES, voices.find(name).style) for name in ("af_heart", "am_michael", "bf_emma")]
    alone = [synthesize(engine, utterance) for utterance in utterances]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(partial(synthesize, engine), utterances * 2))
    for expected, samples in zip(alone * 2, together, strict=True):
        np.testing.assert_array_equal(samples, expected)


def test_level_follows_that_of_its_teacher(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    teacher = KokoroEngine(lambda: weights.load(None, "", Path()), threads=2)
    teacher.load()
    utterance = Utterance(PHONEMES, voices.find("bm_george").style)
    student, original = synthesize(engine, utterance), synthesize(teacher, utterance)
    assert len(student) == len(original)

    def log_levels(samples: Samples) -> Samples:
        frames = samples[: len(samples) // 600 * 600].reshape(-1, 600)
        levels: Samples = np.log(np.sqrt((frames**2).mean(axis=1)) + 1e-3)
        return levels

    assert np.corrcoef(log_levels(student), log_levels(original))[0, 1] > 0.9


def test_damaged_head_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hashlib.sha256(files("svc").joinpath(turbo.HEAD).read_bytes()).hexdigest() == turbo.HEAD_SHA256
    monkeypatch.setattr(turbo, "HEAD_SHA256", "0" * 64)
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=1)
    with pytest.raises(EngineUnavailable, match=r"turbo-head\.onnx is damaged.*0000"):
        engine.load()
