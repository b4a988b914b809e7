"""The equalizer brings a voice's spectral envelope to the speaker's and changes nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from svc.audio import equalizer
from svc.audio.equalizer import BANDS, FLAT, MAX_GAIN_DB, Equalizer, SpectralEnvelope
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import RATE, OnnxSpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import VoiceParameters
from tests.voices.examples import make_voice

LOW = 15
"""Bands below 3.7 kHz."""
BRIGHTER = np.linspace(-9, 9, BANDS, dtype=np.float32)


@pytest.fixture(scope="module")
def noise() -> Samples:
    return 0.1 * np.random.default_rng(3).standard_normal(4 * RATE, dtype=np.float32)


def loudness(samples: Samples) -> float:
    return 10 * float(np.log10(np.mean(np.square(samples))))


def test_chunks_of_any_length_make_the_same_audio(noise: Samples) -> None:
    whole, equalize = Equalizer(BRIGHTER, RATE)(noise), Equalizer(BRIGHTER, RATE)
    chunks = [equalize(chunk) for chunk in np.split(noise, [1, 9, 700, 701, 20_000])]
    assert np.allclose(np.concatenate(chunks), whole, atol=1e-6)


def test_no_delay() -> None:
    click = np.zeros(RATE, dtype=np.float32)
    click[100] = 1.0
    response = Equalizer(BRIGHTER, RATE)(click)
    assert np.abs(response).argmax() == 100
    assert np.abs(response[:100]).max() < 1e-6


def test_flat_gains_change_nothing(noise: Samples) -> None:
    assert np.allclose(Equalizer(FLAT, RATE)(noise), noise, atol=1e-6)


def test_each_band_changes_by_its_gain(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    before, after = (
        encoder.encode(samples, 24_000).spectral_envelope for samples in (spoken, Equalizer(BRIGHTER, 24_000)(spoken))
    )
    change = after - before
    assert np.allclose(change - change.mean(), BRIGHTER, atol=1.5)  # bands overlap


def test_matching_gains_bring_the_voice_to_the_person(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    before = encoder.encode(spoken, 24_000).spectral_envelope
    after = encoder.encode(
        Equalizer(equalizer.matching_gains(person, before), 24_000)(spoken), 24_000
    ).spectral_envelope
    far, near = (np.std((each - person)[:LOW]) for each in (before, after))
    assert near < far / 4


def test_high_bands_are_matched_less(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    before = encoder.encode(spoken, 24_000).spectral_envelope
    steps = np.diff(equalizer.matching_gains(person, before)) / np.diff(person - before)
    assert np.mean(steps[-3:]) < np.mean(steps[:LOW]) / 2


def test_matching_gains_keep_the_loudness(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(-BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    gains = equalizer.matching_gains(person, encoder.encode(spoken, 24_000).spectral_envelope)
    assert loudness(Equalizer(gains, 24_000)(spoken)) == pytest.approx(loudness(spoken), abs=3)


def test_bands_that_a_telephone_removed_are_kept() -> None:
    voice = np.zeros(BANDS, dtype=np.float32)
    person = np.where(np.arange(BANDS) < 14, voice, -60).astype(np.float32)
    assert np.allclose(equalizer.matching_gains(person, voice), 0, atol=1e-5)


def test_gains_are_limited() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        person, voice = rng.normal(scale=15, size=(2, BANDS)).astype(np.float32)
        assert np.ptp(equalizer.matching_gains(person, voice)) <= 2 * MAX_GAIN_DB + 1e-3


def synthesize(phonemizer: Phonemizer, voices: VoiceCatalogue, parameters: VoiceParameters) -> Samples:
    request = SynthesisRequest("Good morning to all of you.", voices.build(parameters, Language.ENGLISH_US))
    return np.concatenate([chunk.samples for chunk in Pipeline(FakeEngine(), phonemizer).synthesize(request)])


def test_speech_of_a_voice_is_equalized(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    plain = make_voice().parameters
    unequalized = synthesize(phonemizer, voices, plain)
    equalized = synthesize(phonemizer, voices, replace(plain, equalizer_gains=BRIGHTER))
    assert np.allclose(equalized, Equalizer(BRIGHTER, FakeEngine().sample_rate)(unequalized), atol=1e-5)
    assert not np.allclose(equalized, unequalized, atol=1e-3)


def test_stored_voice_without_gains_has_flat_ones() -> None:
    stored = make_voice().parameters.to_json()
    del stored["colour"]
    gains: SpectralEnvelope = VoiceParameters.from_json(stored).equalizer_gains
    assert not gains.any()
