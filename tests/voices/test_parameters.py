"""A cloned voice as data: what is written is read again, and what is damaged is refused."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from svc.audio.equalizer import BANDS
from svc.engine.fake import FakeEngine
from svc.engine.protocol import NO_VOCODER_EMBEDDING, Chunk, Utterance
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.parameters import LAYERS, STYLE, VERSION, VoiceParameters, accent_of
from svc.voices.settings import VoiceSettings


def some(scale: float = 0.3, pitch_scale: float = 1.1) -> VoiceParameters:
    chance = np.random.default_rng(7)

    def vector(*shape: int) -> npt.NDArray[np.float32]:
        return (scale * chance.standard_normal(shape)).astype(np.float32)

    layer_offsets, foreign_layer_offsets = vector(LAYERS, STYLE), vector(LAYERS, STYLE)
    vocoder_embedding = vector(*NO_VOCODER_EMBEDDING.shape)
    return VoiceParameters(
        vector(STYLE),
        vector(STYLE),
        layer_offsets,
        pitch_scale,
        vector(BANDS),
        foreign_layer_offsets,
        vocoder_embedding,
    )


def test_what_is_written_is_read() -> None:
    written = some()
    read = VoiceParameters.from_json(json.loads(json.dumps(written.to_json())))
    for name in ("timbre", "melody", "layer_offsets", "equalizer_gains", "foreign_layer_offsets", "vocoder_embedding"):
        assert np.allclose(getattr(read, name), getattr(written, name), atol=1e-3)
    assert read.pitch_scale == written.pitch_scale


def test_it_is_small() -> None:
    assert len(json.dumps(some().to_json())) < 10_000


@pytest.mark.parametrize(
    "change",
    [
        {"version": VERSION + 1},
        {"version": None},
        {"timbre": "AAAA"},
        {"timbre": "not base64!"},
        {"layers": 5},
        {"colour": "AAAA"},
        {"abroad": "AAAA"},
        {"grain": "AAAA"},
        {"pitch_scale": "loud"},
        {"pitch_scale": None},
        {"pitch_scale": 0.0},
        {"pitch_scale": float("nan")},
    ],
    ids=str,
)
def test_what_is_damaged_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        VoiceParameters.from_json(some().to_json() | change)


def test_what_is_missing_is_refused() -> None:
    stored = some().to_json()
    del stored["melody"]
    with pytest.raises(ValueError, match="melody"):
        VoiceParameters.from_json(stored)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e3])
def test_no_number_is_beyond_bounds(bad: float) -> None:
    timbre = np.zeros(STYLE, dtype=np.float32)
    timbre[5] = bad
    with pytest.raises(ValueError, match="timbre"):
        VoiceParameters(timbre, np.zeros(STYLE, np.float32), np.zeros((LAYERS, STYLE), np.float32))


def test_its_style_is_like_that_of_a_built_in_voice(voices: VoiceCatalogue) -> None:
    nothing = np.zeros(STYLE, np.float32)
    plain = VoiceParameters(nothing, nothing, np.zeros((LAYERS, STYLE), np.float32))
    styled, unstyled = (voices.sketch(each, Language.ENGLISH_US).style for each in (some(), plain))
    assert styled.shape == (510, 256)
    assert styled.dtype == np.float32
    difference = styled - unstyled
    assert np.allclose(difference, difference[0], atol=1e-5)
    assert np.allclose(difference[0, :STYLE], some().timbre, atol=1e-5)


def test_in_english_it_is_as_it_is() -> None:
    voice = some()
    for language in (Language.ENGLISH_US, Language.ENGLISH_GB):
        assert np.array_equal(voice.layer_offsets_in(language), voice.layer_offsets)
        assert np.array_equal(voice.melody_in(language), voice.melody)
        assert voice.pitch_scale_in(language) == voice.pitch_scale


def natives(language: Language) -> npt.NDArray[np.float32]:
    """The middle of those who speak a language, as an offset from the middle of all voices."""
    rows = {voice.key: voice.style[60:120].mean(axis=0) for voice in built_in()}
    own = [rows[voice.key] for voice in built_in() if voice.language is language]
    offset: npt.NDArray[np.float32] = np.mean(own, axis=0) - np.mean(list(rows.values()), axis=0)
    return offset


ABROAD = [language for language in Language if not language.english]


@pytest.mark.parametrize("language", ABROAD)
def test_elsewhere_it_speaks_more_as_they_do_there(language: Language) -> None:
    voice, there, accent = some(), natives(language), accent_of(language)
    assert np.allclose(voice.melody_in(language) - voice.melody, there[STYLE:], atol=1e-4)
    changes = voice.layer_offsets_in(language) - voice.foreign_layer_offsets - accent.offset
    for change, native, bolder in zip(changes, *accent.shares, strict=True):
        to_native = change - bolder * voice.timbre
        _, aside = along_women_to_men(there[:STYLE] - voice.timbre)
        assert np.allclose(to_native, native * aside, atol=1e-4)  # women stay women, and men men


@pytest.mark.parametrize("language", ABROAD)
def test_the_layers_that_pronounce_are_natives_and_the_last_ones_the_persons(language: Language) -> None:
    accent = accent_of(language)
    assert accent.offset.shape == (LAYERS, STYLE)
    native, bolder = accent.shares
    assert (native[:5] > 0.5).all()
    assert (native[-2:] < 0.5).all()
    assert np.abs(bolder).max() < 1
    assert np.abs(accent.offset).max() < 1
    learned = (Language.SPANISH, Language.FRENCH, Language.PORTUGUESE_BR)
    assert accent.offset.any() == (language in learned)


def along_women_to_men(timbre: npt.NDArray[np.float32]) -> tuple[float, npt.NDArray[np.float32]]:
    """How far it goes that way, and what else there is in it."""
    women, men = (
        np.mean([voice.style[60:120, :STYLE].mean(axis=0) for voice in built_in() if voice.gender == gender], axis=0)
        for gender in ("female", "male")
    )
    way = (men - women) / np.linalg.norm(men - women)
    return float(way @ timbre), timbre - way * (way @ timbre)


def test_what_an_older_voice_learned_in_english_is_halved_elsewhere_but_in_the_vocoder() -> None:
    stored = some().to_json()
    del stored["abroad"], stored["colour"]
    voice = VoiceParameters.from_json(stored)
    assert np.array_equal(voice.foreign_layer_offsets[:-1], 0.5 * voice.layer_offsets[:-1])
    assert np.array_equal(voice.foreign_layer_offsets[-1], voice.layer_offsets[-1])


def test_an_older_voice_has_no_grain() -> None:
    stored = some().to_json()
    del stored["grain"]
    assert not VoiceParameters.from_json(stored).vocoder_embedding.any()


def test_less_similarity_takes_of_all_that_is_its_own(voices: VoiceCatalogue) -> None:
    weaker, language = VoiceSettings(similarity_boost=0), Language.ENGLISH_US
    voice = voices.sketch(some(), language)
    assert np.allclose(weaker.layer_offsets(voice, language), 0.6 * some().layer_offsets, atol=1e-6)
    assert np.allclose(weaker.vocoder_embedding(voice), 0.6 * some().vocoder_embedding, atol=1e-6)
    assert np.allclose(weaker.equalizer_gains(voice), 0.6 * some().equalizer_gains, atol=1e-6)


def test_each_sentence_is_spoken_as_in_its_language(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    class Engine(FakeEngine):
        def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
            spoken.append(utterance)
            return super().synthesize(utterance)

    spoken: list[Utterance] = []
    text = "Good morning to all of you. ¿Dónde está la biblioteca, por favor?"
    voice = voices.sketch(some(), Language.ENGLISH_US)
    list(Pipeline(Engine(), phonemizer).synthesize(SynthesisRequest(text, voice)))
    for utterance, language in zip(spoken, (Language.ENGLISH_US, Language.SPANISH), strict=True):
        assert np.array_equal(utterance.layer_offsets, some().layer_offsets_in(language))
        assert np.array_equal(utterance.style, voice.style_in(language))
        assert utterance.pitch_scale == some().pitch_scale_in(language)
        assert np.array_equal(utterance.vocoder_embedding, some().vocoder_embedding)
    assert not np.array_equal(spoken[0].style, spoken[1].style)
