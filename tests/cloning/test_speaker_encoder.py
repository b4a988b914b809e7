"""The speaker encoder by itself: its pitch, its embeddings, degenerate input, and the built-in voices' embeddings."""

import math
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.cloning import speaker_encoder as encoders
from svc.cloning.speaker_encoder import (
    NETWORK_SHA256,
    RATE,
    BuiltInEmbeddings,
    OnnxSpeakerEncoder,
    has_several_speakers,
    measure_pitch,
)
from svc.errors import EngineUnavailable
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS, STYLE
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import LAYERS

OUTDATED = "run scripts/make_voice_embeddings.py"


def make_vowel(hertz: float, seconds: float, rate: int = RATE) -> Samples:
    """Falling harmonics and a little noise."""
    time = np.arange(int(seconds * rate)) / rate
    harmonics = [np.sin(2 * np.pi * hertz * k * time) / k for k in range(1, int(4000 / hertz))]
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(time))
    wave: Samples = (0.1 * (np.sum(harmonics, axis=0) + noise)).astype(np.float32)
    return wave


@pytest.mark.parametrize("hertz", [80, 120, 210, 330])
def test_the_pitch_is_measured(hertz: float) -> None:
    median, spread, share = measure_pitch(make_vowel(hertz, 2))
    assert math.exp(median) == pytest.approx(hertz, rel=0.03)
    assert spread < 0.05
    assert share > 0.9


@pytest.mark.parametrize(("hertz", "formant"), [(100, 500), (210, 420)])
def test_the_pitch_of_telephone_speech_is_measured(hertz: float, formant: float) -> None:
    """It has no fundamental, and a formant may be the loudest part."""
    time = np.arange(2 * RATE) / RATE
    harmonics = [k for k in range(1, 35) if 300 < k * hertz < 3400]
    voice = sum(
        np.sin(k * (2 * np.pi * hertz * time + 1)) * math.exp(-abs(k * hertz - formant) / 80) for k in harmonics
    )
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(time))
    median, spread, _ = measure_pitch((0.1 * (voice + noise)).astype(np.float32))
    assert math.exp(median) == pytest.approx(hertz, rel=0.03)
    assert spread < 0.05


@pytest.mark.parametrize(("every", "weak", "vibrato"), [(3, 0.05, 0.0), (4, 0.2, 0.04)])
def test_a_strong_overtone_of_most_frames_is_not_the_pitch(every: int, weak: float, vibrato: float) -> None:
    """The other frames tell that it is lower."""
    time = np.arange(4 * RATE) / RATE
    phase = 2 * np.pi * 95 * np.cumsum(1 + vibrato * np.sin(2 * np.pi * 6 * time)) / RATE
    amplitudes = {k: np.where((k % every != 0) & (time % 1 < 0.6), weak, 1.0) for k in range(4, 36)}
    voice = sum(amplitude * np.sin(k * (phase + 1)) for k, amplitude in amplitudes.items())
    noise = 0.3 * np.random.default_rng(0).standard_normal(len(time))
    median, _, _ = measure_pitch((0.02 * (voice + noise)).astype(np.float32))
    assert math.exp(median) == pytest.approx(95, rel=0.06)


def test_noise_has_no_pitch() -> None:
    noise = np.random.default_rng(1).standard_normal(RATE).astype(np.float32)
    assert measure_pitch(noise)[2] < 0.2


def test_the_level_makes_no_difference(encoder: OnnxSpeakerEncoder) -> None:
    clip = make_vowel(140, 4)
    loud, soft = encoder.encode(clip, RATE), encoder.encode(0.01 * clip, RATE)
    assert encoder.similarity(loud.embedding, soft.embedding) > 0.999
    assert np.allclose(loud.parameters.timbre, soft.parameters.timbre, atol=0.02)


def test_the_quick_embedding_is_half_of_the_whole_one(encoder: OnnxSpeakerEncoder) -> None:
    clip = make_vowel(140, 4)
    quick, whole = encoder.embed_quickly(clip, RATE), encoder.encode(clip, RATE).embedding
    assert np.allclose(quick, whole[len(whole) // 2 :], atol=1e-5)


def test_the_rate_makes_little_difference(encoder: OnnxSpeakerEncoder) -> None:
    fine, coarse = (encoder.encode(make_vowel(140, 4, rate), rate) for rate in (48_000, RATE))
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
def test_input_without_speech_still_gives_parameters(encoder: OnnxSpeakerEncoder, samples: Samples) -> None:
    encoded = encoder.encode(samples, RATE)
    assert encoded.parameters.timbre.shape == (STYLE,)
    assert encoded.parameters.layer_offsets.shape == (LAYERS, STYLE)
    assert np.isfinite(encoded.embedding).all()


def test_the_encoder_predicts_what_it_did_in_training(encoder: OnnxSpeakerEncoder) -> None:
    """From the clip on: features, pitch and network. Training and service have code of their own for the first two."""
    recorded = np.load(Path(__file__).parent / "encoder_reference.npz")
    encoded = encoder.encode(recorded["clip"].astype(np.float32), RATE)
    assert encoded.embedding == pytest.approx(recorded["embedding"], abs=0.01)
    for name in ("timbre", "layer_offsets", "foreign_layer_offsets", "vocoder_embedding", "mask_offset"):
        predicted, expected = getattr(encoded.parameters, name), recorded[name].astype(np.float32)
        assert expected.any(), name
        assert np.abs(predicted - expected).max() < 0.02 * np.abs(expected).max() + 0.005, name


def test_a_voice_that_lacks_nothing_is_not_corrected(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(spoken, 24_000)
    corrected = encoder.correct(person, spoken, 24_000)
    assert corrected.timbre == pytest.approx(person.parameters.timbre, abs=1e-3)
    assert corrected.mask_offset == pytest.approx(person.parameters.mask_offset, abs=1e-3)


def test_a_correction_goes_away_from_who_was_heard(
    encoder: OnnxSpeakerEncoder, spoken: Samples, say: Callable[..., Samples]
) -> None:
    person = encoder.encode(spoken, 24_000)
    other = say("The tide is rising, and the boats are coming home.", voice="af_heart")
    timbre_of_other = encoder.encode(other, 24_000).parameters.timbre
    corrected = encoder.correct(person, other, 24_000)
    before, after = (np.linalg.norm(each.timbre - timbre_of_other) for each in (person.parameters, corrected))
    assert after > 1.05 * before
    assert (corrected.pitch_scale, corrected.pitch_range) == (
        person.parameters.pitch_scale,
        person.parameters.pitch_range,
    )


def test_an_embedding_has_similarity_1_with_itself(encoder: OnnxSpeakerEncoder) -> None:
    embedding = encoder.encode(make_vowel(200, 3), RATE).embedding
    assert encoder.similarity(embedding, embedding) == pytest.approx(1.0, abs=1e-4)


def test_telephone_speech_keeps_the_embedding(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    spectrum, hertz = np.fft.rfft(spoken), np.fft.rfftfreq(len(spoken), 1 / 24_000)
    spectrum[(hertz < 300) | (hertz > 3400)] = 0
    telephone = np.fft.irfft(spectrum, len(spoken)).astype(np.float32)
    direct, over_telephone = (encoder.encode(samples, 24_000).embedding for samples in (spoken, telephone))
    assert encoder.similarity(direct, over_telephone) > 0.75


@pytest.mark.parametrize("checksum", ["NETWORK_SHA256", "_MAPPER_SHA256"])
def test_a_damaged_network_is_refused(checksum: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, checksum, "0" * 64)
    with pytest.raises(EngineUnavailable, match="damaged"):
        OnnxSpeakerEncoder.load()


def test_the_embeddings_of_the_built_in_voices_were_made_with_this_network() -> None:
    stored = np.load(BytesIO(files("svc").joinpath("data/voice-embeddings.npz").read_bytes()))
    assert str(stored["encoder_sha256"]) == NETWORK_SHA256, OUTDATED


def test_every_built_in_voice_has_an_embedding(voices: VoiceCatalogue) -> None:
    stored = np.load(BytesIO(files("svc").joinpath("data/voice-embeddings.npz").read_bytes()))
    assert set(stored["keys"]) == {voice.key for voice in voices if voice.custom is None}


@pytest.mark.parametrize("voice", ["af_heart", "bm_george"])
def test_the_embedding_of_a_built_in_voice_is_reproduced(
    voice: str, encoder: OnnxSpeakerEncoder, say: Callable[..., Samples]
) -> None:
    """Also the inputs of the network, such as the pitch, must be computed as they were."""
    samples = say(PREVIEW_TEXTS[Language.ENGLISH_US], voice=voice, language=Language.ENGLISH_US)
    key, similarity = BuiltInEmbeddings.load().find_nearest(encoder, encoder.encode(samples, 24_000).embedding)
    assert key == voice
    assert similarity > 0.99, OUTDATED


def test_identical_segments_are_one_speaker(encoder: OnnxSpeakerEncoder) -> None:
    assert not has_several_speakers(encoder, np.tile(make_vowel(140, 2), 3), RATE)
