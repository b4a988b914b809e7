"""The voice encoder by itself: what it makes of sound, and of what is hardly sound."""

import math

import numpy as np
import pytest

from svc.cloning import speaker_encoder as encoders
from svc.cloning.speaker_encoder import RATE, OnnxSpeakerEncoder
from svc.engine.protocol import Samples
from svc.errors import EngineUnavailable
from svc.voices.parameters import LAYERS, STYLE


def buzz(hertz: float, seconds: float, rate: int = RATE) -> Samples:
    """Something like a vowel: a pulse train whose harmonics fall, with a little noise."""
    time = np.arange(int(seconds * rate)) / rate
    harmonics = [np.sin(2 * np.pi * hertz * k * time) / k for k in range(1, int(4000 / hertz))]
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(time))
    wave: Samples = (0.1 * (np.sum(harmonics, axis=0) + noise)).astype(np.float32)
    return wave


@pytest.fixture(scope="module")
def encoder() -> OnnxSpeakerEncoder:
    return OnnxSpeakerEncoder.load()


@pytest.mark.parametrize("hertz", [80, 120, 210, 330])
def test_the_pitch_is_heard(hertz: float) -> None:
    median, spread, share = encoders._pitch(buzz(hertz, 2))
    assert math.exp(median) == pytest.approx(hertz, rel=0.03)
    assert spread < 0.05
    assert share > 0.9


@pytest.mark.parametrize(("hertz", "formant"), [(100, 500), (210, 420)])
def test_the_pitch_is_heard_through_a_telephone(hertz: float, formant: float) -> None:
    """There is no fundamental then, and a formant may be louder than all else."""
    time = np.arange(2 * RATE) / RATE
    heard = [k for k in range(1, 35) if 300 < k * hertz < 3400]
    voice = sum(np.sin(k * (2 * np.pi * hertz * time + 1)) * math.exp(-abs(k * hertz - formant) / 80) for k in heard)
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(time))
    median, spread, _ = encoders._pitch((0.1 * (voice + noise)).astype(np.float32))
    assert math.exp(median) == pytest.approx(hertz, rel=0.03)
    assert spread < 0.05


def test_noise_has_no_pitch() -> None:
    noise = np.random.default_rng(1).standard_normal(RATE).astype(np.float32)
    assert encoders._pitch(noise)[2] < 0.2


def test_the_level_makes_no_difference(encoder: OnnxSpeakerEncoder) -> None:
    clip = buzz(140, 4)
    loud, soft = encoder.encode(clip, RATE), encoder.encode(0.01 * clip, RATE)
    assert encoder.similarity(loud.embedding, soft.embedding) > 0.999
    assert np.allclose(loud.parameters.timbre, soft.parameters.timbre, atol=0.02)


def test_the_rate_makes_little_difference(encoder: OnnxSpeakerEncoder) -> None:
    fine, coarse = (encoder.encode(buzz(140, 4, rate), rate) for rate in (48_000, RATE))
    assert encoder.similarity(fine.embedding, coarse.embedding) > 0.95


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0, dtype=np.float32),
        np.zeros(10 * RATE, dtype=np.float32),
        np.ones(RATE, dtype=np.float32),
        np.random.default_rng(0).standard_normal(RATE).astype(np.float32) * 100,
    ],
    ids=["nothing", "silence", "a constant", "loud noise"],
)
def test_what_is_no_speech_still_gives_a_voice(encoder: OnnxSpeakerEncoder, samples: Samples) -> None:
    heard = encoder.encode(samples, RATE)
    assert heard.parameters.timbre.shape == (STYLE,)
    assert heard.parameters.layer_offsets.shape == (LAYERS, STYLE)
    assert np.isfinite(heard.embedding).all()


def test_an_embedding_is_like_itself(encoder: OnnxSpeakerEncoder) -> None:
    embedding = encoder.encode(buzz(200, 3), RATE).embedding
    assert encoder.similarity(embedding, embedding) == pytest.approx(1.0, abs=1e-4)


def test_a_telephone_makes_nobody_else_of_a_person(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    spectrum, hertz = np.fft.rfft(spoken), np.fft.rfftfreq(len(spoken), 1 / 24_000)
    spectrum[(hertz < 300) | (hertz > 3400)] = 0
    phoned = np.fft.irfft(spectrum, len(spoken)).astype(np.float32)
    direct, called = (encoder.encode(samples, 24_000).embedding for samples in (spoken, phoned))
    assert encoder.similarity(direct, called) > 0.75


def test_a_damaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "NETWORK_SHA256", "0" * 64)
    with pytest.raises(EngineUnavailable, match="damaged"):
        OnnxSpeakerEncoder.load()
