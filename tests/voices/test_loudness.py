"""The gain that brings all voices to one loudness."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from svc.audio.loudness import measure_loudness
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.loudness import CALIBRATION_TEXTS, MAX_GAIN_DB, TARGET_LUFS, find_built_in_loudness, measure_clone
from tests.voices.test_parameters import make_parameters

RATE = 24_000


class NoiseEngine(FakeEngine):
    """Speaks noise of a given level."""

    def __init__(self, level: float) -> None:
        super().__init__()
        self._level = level

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        noise = np.random.default_rng(0).standard_normal(2 * RATE, dtype=np.float32)
        yield Chunk(np.float32(self._level) * noise)


def speak(voice: Voice, phonemizer: Phonemizer, level: float = 0.01, text: str = "Hello there.") -> Samples:
    pipeline = Pipeline(NoiseEngine(level), phonemizer)
    return np.concatenate([each.samples for each in pipeline.synthesize(SynthesisRequest(text, voice))])


def test_every_built_in_voice_was_measured_in_every_language(voices: VoiceCatalogue) -> None:
    for voice in voices:
        for language in Language:
            loudness = find_built_in_loudness(voice.key, language)
            assert loudness is not None
            assert voice.gain_in(language) == pytest.approx(TARGET_LUFS - loudness)


def test_regions_are_measured_as_their_language(voices: VoiceCatalogue) -> None:
    clone = voices.build(make_parameters().with_loudness(Language.SPANISH_LATIN_AMERICA, -30.0), Language.ENGLISH_US)
    assert clone.gain_in(Language.SPANISH) == pytest.approx(7.0)


def test_a_clone_is_brought_to_the_target(voices: VoiceCatalogue, phonemizer: Phonemizer) -> None:
    parameters = replace(make_parameters(), equalizer_gains=np.zeros(20, np.float32))
    raw = measure_loudness(speak(voices.build(parameters, Language.ENGLISH_US), phonemizer), RATE)
    measured = parameters.with_loudness(Language.ENGLISH_US, raw)
    after = measure_loudness(speak(voices.build(measured, Language.ENGLISH_US), phonemizer), RATE)
    assert raw != pytest.approx(TARGET_LUFS, abs=2)
    assert after == pytest.approx(TARGET_LUFS, abs=0.3)


def test_there_is_a_text_to_measure_in_every_language_of_the_built_in_voices() -> None:
    assert CALIBRATION_TEXTS.keys() == {each.base for each in Language if not each.row}


def test_what_clones_are_measured_with_was_compared_with_other_texts_in_every_language() -> None:
    speech = np.random.default_rng(0).standard_normal(2 * RATE, dtype=np.float32)
    louder = {each: measure_loudness(speech, RATE) - measure_clone(speech, RATE, each) for each in Language}
    assert any(louder.values())
    assert all(abs(each) < 3 for each in louder.values())


def test_a_voice_that_was_not_measured_gets_no_gain(voices: VoiceCatalogue) -> None:
    assert voices.build(make_parameters(), Language.FRENCH).gain_in(Language.FRENCH) == 0.0


def test_gains_are_bounded(voices: VoiceCatalogue) -> None:
    for loudness, expected in ((-59.0, MAX_GAIN_DB), (0.0, -MAX_GAIN_DB)):
        voice = voices.build(make_parameters().with_loudness(Language.ENGLISH_US, loudness), Language.ENGLISH_US)
        assert voice.gain_in(Language.ENGLISH_US) == expected


def test_a_mix_has_the_mean_gain_of_its_voices(voices: VoiceCatalogue) -> None:
    mix = voices.find("af_bella(3)+am_adam")
    parts = [voices.find(key).gain_in(Language.ENGLISH_US) for key in ("af_bella", "am_adam")]
    assert mix.gain_in(Language.ENGLISH_US) == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])


def test_nothing_is_louder_than_minus_one_decibel(voices: VoiceCatalogue, phonemizer: Phonemizer) -> None:
    loud = speak(voices.find("af_heart"), phonemizer, level=0.9, text='<prosody volume="+9dB">Hello there.</prosody>')
    assert 0.85 < np.abs(loud).max() <= 10 ** (-1 / 20)
    quiet = speak(voices.find("af_heart"), phonemizer, level=0.01)
    gain = 10 ** (voices.find("af_heart").gain_in(Language.ENGLISH_US) / 20)
    noise = 0.01 * np.random.default_rng(0).standard_normal(2 * RATE, dtype=np.float32)
    assert np.allclose(quiet[: len(noise)], gain * noise, atol=1e-6), "below the knee nothing but the gain is applied"
