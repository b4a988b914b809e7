"""What a cloned voice asks of the engine beyond a style: a timbre for each layer, another pitch, and its grain."""

import numpy as np
import pytest

from svc.app import create_engine
from svc.cloning.speech_detection import listen
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_VOCODER_EMBEDDING, Engine, Samples, Utterance
from svc.settings import Settings
from svc.voices.catalogue import VoiceCatalogue

PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ."


@pytest.fixture(scope="module", params=["turbo", "kokoro"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine = create_engine(Settings(engine=request.param))
    engine.load()
    return engine


def sound(
    engine: Engine,
    voices: VoiceCatalogue,
    layer_offsets: Samples = NO_LAYER_OFFSETS,
    pitch_scale: float = 1.0,
    vocoder_embedding: Samples = NO_VOCODER_EMBEDDING,
) -> Samples:
    style = voices.find("am_michael").style
    utterance = Utterance(
        PHONEMES, style, layer_offsets=layer_offsets, pitch_scale=pitch_scale, vocoder_embedding=vocoder_embedding
    )
    return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])


def pitch(samples: Samples) -> float:
    heard = listen(samples)
    return float(np.median(heard.pitch[(heard.level > heard.loud - 15) & (heard.periodicity > 0.8)]))


def test_pitch(engine: Engine, voices: VoiceCatalogue) -> None:
    plain, higher = sound(engine, voices), sound(engine, voices, pitch_scale=1.25)
    assert len(higher) == len(plain), "the pace stays"
    assert pitch(higher) / pitch(plain) == pytest.approx(1.25, rel=0.05)


def test_layers_count(engine: Engine, voices: VoiceCatalogue) -> None:
    plain = sound(engine, voices)
    chance = np.random.default_rng(1)
    for layer in (0, 5, 9, 10):
        layer_offsets = NO_LAYER_OFFSETS.copy()
        layer_offsets[layer] = 0.1 * chance.standard_normal(128)
        changed = sound(engine, voices, layer_offsets)
        assert len(changed) == len(plain)
        assert np.abs(changed - plain).max() > 0.001, layer


def test_grain_is_heard_in_our_own_vocoder_alone(engine: Engine, voices: VoiceCatalogue) -> None:
    vocoder_embedding = (0.1 * np.random.default_rng(3).standard_normal(NO_VOCODER_EMBEDDING.shape)).astype(np.float32)
    plain, vocoder_embedding = sound(engine, voices), sound(engine, voices, vocoder_embedding=vocoder_embedding)
    assert len(vocoder_embedding) == len(plain)
    assert (np.abs(vocoder_embedding - plain).max() > 0.001) == (engine.name == "turbo")


def test_the_same_change_in_all_layers_is_another_timbre(engine: Engine, voices: VoiceCatalogue) -> None:
    """The layers are offsets from the style: all alike, they do what the timbre half of the style does."""
    offset = np.zeros(256, dtype=np.float32)
    offset[:128] = 0.05 * np.random.default_rng(2).standard_normal(128)
    style = voices.find("am_michael").style + offset
    shifted = np.concatenate([chunk.samples for chunk in engine.synthesize(Utterance(PHONEMES, style))])
    layer_offsets = np.repeat(offset[None, :128], len(NO_LAYER_OFFSETS), axis=0)
    assert np.abs(sound(engine, voices, layer_offsets) - shifted).max() < 0.01
