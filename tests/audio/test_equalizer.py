"""A cloned voice gets the colour of its person, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from svc.audio import equalizer
from svc.audio.equalizer import BANDS, FLAT, LARGEST, Equalizer, SpectralEnvelope
from svc.cloning.speaker_encoder import RATE, OnnxSpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Samples
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import VoiceParameters
from tests.voices.examples import make_voice

LOW = 15
"""Bands below 3.7 kHz."""
BRIGHTER = np.linspace(-9, 9, BANDS, dtype=np.float32)


@pytest.fixture(scope="module")
def noise() -> Samples:
    return 0.1 * np.random.default_rng(3).standard_normal(4 * RATE, dtype=np.float32)


@pytest.fixture(scope="module")
def encoder() -> OnnxSpeakerEncoder:
    return OnnxSpeakerEncoder.load()


def loudness(samples: Samples) -> float:
    return 10 * float(np.log10(np.mean(np.square(samples))))


def test_pieces_of_any_length_make_the_same_sound(noise: Samples) -> None:
    whole, piecewise = Equalizer(BRIGHTER, RATE)(noise), Equalizer(BRIGHTER, RATE)
    pieces = [piecewise(piece) for piece in np.split(noise, [1, 9, 700, 701, 20_000])]
    assert np.allclose(np.concatenate(pieces), whole, atol=1e-6)


def test_nothing_is_late() -> None:
    click = np.zeros(RATE, dtype=np.float32)
    click[100] = 1.0
    answer = Equalizer(BRIGHTER, RATE)(click)
    assert np.abs(answer).argmax() == 100
    assert np.abs(answer[:100]).max() < 1e-6


def test_no_change_is_no_filter(noise: Samples) -> None:
    assert np.allclose(Equalizer(FLAT, RATE)(noise), noise, atol=1e-6)


def test_each_band_changes_as_told(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    before, after = (
        encoder.encode(sound, 24_000).spectral_envelope for sound in (spoken, Equalizer(BRIGHTER, 24_000)(spoken))
    )
    found = after - before
    assert np.allclose(found - found.mean(), BRIGHTER, atol=1.5)  # bands overlap


def test_as_the_person(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    before = encoder.encode(spoken, 24_000).spectral_envelope
    after = encoder.encode(
        Equalizer(equalizer.matching_gains(person, before), 24_000)(spoken), 24_000
    ).spectral_envelope
    far, near = (np.std((each - person)[:LOW]) for each in (before, after))
    assert near < far / 4


def test_high_up_it_is_the_microphones(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    before = encoder.encode(spoken, 24_000).spectral_envelope
    steps = np.diff(equalizer.matching_gains(person, before)) / np.diff(person - before)
    assert np.mean(steps[-3:]) < np.mean(steps[:LOW]) / 2


def test_the_voice_stays_as_loud(encoder: OnnxSpeakerEncoder, spoken: Samples) -> None:
    person = encoder.encode(Equalizer(-BRIGHTER, 24_000)(spoken), 24_000).spectral_envelope
    asked = equalizer.matching_gains(person, encoder.encode(spoken, 24_000).spectral_envelope)
    assert loudness(Equalizer(asked, 24_000)(spoken)) == pytest.approx(loudness(spoken), abs=3)


def test_what_a_telephone_lost_is_not_taken_from_the_voice() -> None:
    voice = np.zeros(BANDS, dtype=np.float32)
    person = np.where(np.arange(BANDS) < 14, voice, -60).astype(np.float32)
    assert np.allclose(equalizer.matching_gains(person, voice), 0, atol=1e-5)


def test_a_change_is_within_bounds() -> None:
    chance = np.random.default_rng(1)
    for _ in range(20):
        person, voice = chance.normal(scale=15, size=(2, BANDS)).astype(np.float32)
        assert np.ptp(equalizer.matching_gains(person, voice)) <= 2 * LARGEST + 1e-3


def said(phonemizer: Phonemizer, voices: VoiceCatalogue, parameters: VoiceParameters) -> Samples:
    request = SynthesisRequest("Good morning to all of you.", voices.build(parameters, Language.ENGLISH_US))
    return np.concatenate([chunk.samples for chunk in Pipeline(FakeEngine(), phonemizer).synthesize(request)])


def test_what_it_says_is_coloured(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    plain = make_voice().parameters
    uncoloured = said(phonemizer, voices, plain)
    equalizer_gains = said(phonemizer, voices, replace(plain, equalizer_gains=BRIGHTER))
    assert np.allclose(equalizer_gains, Equalizer(BRIGHTER, FakeEngine().sample_rate)(uncoloured), atol=1e-5)
    assert not np.allclose(equalizer_gains, uncoloured, atol=1e-3)


def test_the_first_voices_had_none() -> None:
    stored = make_voice().parameters.to_json()
    del stored["colour"]
    colours: SpectralEnvelope = VoiceParameters.from_json(stored).equalizer_gains
    assert not colours.any()
