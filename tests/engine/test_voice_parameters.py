"""The parameters of a cloned voice besides its style: layer offsets, pitch scale and vocoder embedding."""

import numpy as np
import pytest

from bench.kokoro_engine import KokoroEngine
from svc.audio.samples import Samples
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_VOCODER_EMBEDDING, Array, Engine, Utterance
from svc.engine.turbo import TurboEngine
from svc.voices.catalogue import VoiceCatalogue
from tests.engine.pitch import measure_pitch

pytestmark = pytest.mark.real

PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ."


@pytest.fixture(scope="module", params=[lambda: TurboEngine(threads=2), KokoroEngine], ids=["turbo", "kokoro"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.param()
    engine.load()
    return engine


def synthesize(
    engine: Engine,
    voices: VoiceCatalogue,
    layer_offsets: Array = NO_LAYER_OFFSETS,
    pitch_scale: float = 1.0,
    vocoder_embedding: Array = NO_VOCODER_EMBEDDING,
) -> Samples:
    style = voices.find("am_michael").style
    utterance = Utterance(
        PHONEMES, style, layer_offsets=layer_offsets, pitch_scale=pitch_scale, vocoder_embedding=vocoder_embedding
    )
    return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])


def test_pitch_scale_changes_the_pitch_and_not_the_duration(engine: Engine, voices: VoiceCatalogue) -> None:
    plain, higher = synthesize(engine, voices), synthesize(engine, voices, pitch_scale=1.25)
    assert len(higher) == len(plain)
    assert np.median(measure_pitch(higher)) / np.median(measure_pitch(plain)) == pytest.approx(1.25, rel=0.05)


def test_every_layer_offset_changes_the_audio(engine: Engine, voices: VoiceCatalogue) -> None:
    plain = synthesize(engine, voices)
    rng = np.random.default_rng(1)
    for layer in (0, 5, 9, 10):
        layer_offsets = NO_LAYER_OFFSETS.copy()
        layer_offsets[layer] = 0.1 * rng.standard_normal(128)
        changed = synthesize(engine, voices, layer_offsets)
        assert len(changed) == len(plain)
        assert np.abs(changed - plain).max() > 0.001, layer


def test_vocoder_embedding_changes_the_audio_of_turbo_only(engine: Engine, voices: VoiceCatalogue) -> None:
    embedding = (0.1 * np.random.default_rng(3).standard_normal(NO_VOCODER_EMBEDDING.shape)).astype(np.float32)
    plain, changed = synthesize(engine, voices), synthesize(engine, voices, vocoder_embedding=embedding)
    assert len(changed) == len(plain)
    assert (np.abs(changed - plain).max() > 0.001) == (engine.name != "kokoro")


def test_equal_layer_offsets_are_an_offset_of_the_timbre(engine: Engine, voices: VoiceCatalogue) -> None:
    offset = np.zeros(256, dtype=np.float32)
    offset[:128] = 0.05 * np.random.default_rng(2).standard_normal(128)
    style = voices.find("am_michael").style + offset
    shifted = np.concatenate([chunk.samples for chunk in engine.synthesize(Utterance(PHONEMES, style))])
    layer_offsets = np.repeat(offset[None, :128], len(NO_LAYER_OFFSETS), axis=0)
    assert np.abs(synthesize(engine, voices, layer_offsets) - shifted).max() < 0.01
