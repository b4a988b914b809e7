"""The parameters of a cloned voice: storing them, and what they become in each language."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from svc.audio.equalizer import BANDS
from svc.engine.fake import FakeEngine
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_MASK_OFFSET, NO_VOCODER_EMBEDDING, Chunk, Utterance
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.accents import _load_accents, _pitch_axis, find_timbre, load_accent, load_clone_accent
from svc.voices.built_in import STYLE, load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import LAYERS, VERSION, VoiceParameters
from svc.voices.settings import VoiceSettings


def make_parameters(scale: float = 0.3, pitch_scale: float = 1.1) -> VoiceParameters:
    random = np.random.default_rng(7)

    def vector(*shape: int) -> npt.NDArray[np.float32]:
        return (scale * random.standard_normal(shape)).astype(np.float32)

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


def test_stored_parameters_are_read_again() -> None:
    written = make_parameters()
    read = VoiceParameters.from_json(json.loads(json.dumps(written.to_json())))
    for name in ("timbre", "melody", "layer_offsets", "equalizer_gains", "foreign_layer_offsets", "vocoder_embedding"):
        assert np.allclose(getattr(read, name), getattr(written, name), atol=1e-3)
    assert read.pitch_scale == written.pitch_scale


def test_pace_melody_and_loudness_are_stored_once_they_are_known() -> None:
    stored = make_parameters().to_json()
    assert not {"pace", "pitch_range", "loudness"} & stored.keys(), "so older releases read and write the same"
    read = VoiceParameters.from_json(stored)
    assert (read.pace, read.pitch_range, read.loudness) == (1.0, 1.0, {})
    loudness = {Language.ENGLISH_US: -31.5, Language.FRENCH: -30.0}
    measured = replace(make_parameters(), pace=0.93, pitch_range=1.2, loudness=loudness)
    stored = json.loads(json.dumps(measured.to_json()))
    stored["loudness"]["a language of a later release"] = -20.0
    read = VoiceParameters.from_json(stored)
    assert (read.pace, read.pitch_range, read.loudness) == (0.93, 1.2, loudness)


def test_the_loudness_in_a_language_that_was_not_measured_is_that_of_the_others() -> None:
    voice = make_parameters()
    assert voice.loudness_in(Language.FRENCH) is None
    voice = voice.with_loudness(Language.ENGLISH_GB, -30.0).with_loudness(Language.SPANISH, -28.0)
    assert voice.loudness_in(Language.ENGLISH_US) == voice.loudness_in(Language.ENGLISH_GB) == -30.0
    assert voice.loudness_in(Language.FRENCH) == -29.0
    assert [voice.is_measured_in(each) for each in (Language.SPANISH, Language.ENGLISH_US, Language.FRENCH)] == [
        True,
        True,
        False,
    ]


def with_mask(scale: float = 0.3) -> VoiceParameters:
    mask = np.random.default_rng(8).standard_normal(NO_MASK_OFFSET.shape)
    return replace(make_parameters(), mask_offset=(scale * mask).astype(np.float32))


def test_the_mask_offset_is_stored_where_there_is_one() -> None:
    stored = json.loads(json.dumps(with_mask().to_json()))
    assert np.allclose(VoiceParameters.from_json(stored).mask_offset, with_mask().mask_offset, atol=1e-3)
    del stored["mask"]
    assert stored == make_parameters().to_json(), "releases without masks write and read the same"
    assert not VoiceParameters.from_json(stored).mask_offset.any()


def test_the_mean_of_voices_has_their_mean_mask_offset(voices: VoiceCatalogue) -> None:
    mean = VoiceParameters.mean([(with_mask(), 3.0), (make_parameters(), 1.0)])
    assert np.allclose(mean.mask_offset, 0.75 * with_mask().mask_offset, atol=1e-6)
    assert not voices.default.mask_offset.any()


def test_what_a_later_release_adds_is_ignored() -> None:
    stored = make_parameters().to_json() | {"later": {"any": ["thing"]}}
    assert VoiceParameters.from_json(stored).to_json() == make_parameters().to_json()


def test_the_mean_of_voices_has_their_mean_pace_and_loudness() -> None:
    one, other = (
        replace(make_parameters(), pace=pace, loudness={Language.ENGLISH_US: level})
        for pace, level in ((0.9, -30.0), (1.0, -26.0))
    )
    mean = VoiceParameters.mean([(one, 1.0), (other.with_loudness(Language.FRENCH, -24.0), 3.0)])
    assert mean.loudness == pytest.approx({Language.ENGLISH_US: -27.0, Language.FRENCH: -25.5})
    assert mean.pace == pytest.approx(0.9**0.25)
    assert not VoiceParameters.mean([(one, 1.0), (make_parameters(), 1.0)]).loudness, "one was not measured"
    assert not VoiceParameters.mean([]).loudness


def test_stored_parameters_are_small() -> None:
    assert len(json.dumps(make_parameters().to_json())) < 10_000
    assert len(json.dumps(with_mask().to_json())) < 17_000


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
        {"mask": "AAAA"},
        {"pitch_scale": "loud"},
        {"pitch_scale": None},
        {"pitch_scale": 0.0},
        {"pitch_scale": float("nan")},
        {"pace": 3.0},
        {"pace": "fast"},
        {"pitch_range": 9.0},
        {"loudness": 5.0},
        {"loudness": {"fr": None}},
        {"loudness": {"fr": 5.0}},
        {"loudness": {"fr": float("nan")}},
    ],
    ids=str,
)
def test_damaged_parameters_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        VoiceParameters.from_json(make_parameters().to_json() | change)


def test_missing_parameters_are_refused() -> None:
    stored = make_parameters().to_json()
    del stored["melody"]
    with pytest.raises(ValueError, match="melody"):
        VoiceParameters.from_json(stored)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e3])
def test_numbers_out_of_bounds_are_refused(bad: float) -> None:
    timbre = np.zeros(STYLE, dtype=np.float32)
    timbre[5] = bad
    with pytest.raises(ValueError, match="timbre"):
        VoiceParameters(timbre, np.zeros(STYLE, np.float32), np.zeros((LAYERS, STYLE), np.float32))


def test_the_style_of_a_clone_is_the_mean_style_plus_its_own(voices: VoiceCatalogue) -> None:
    zeros = np.zeros(STYLE, np.float32)
    neutral = VoiceParameters(zeros, zeros, np.zeros((LAYERS, STYLE), np.float32))
    styled, unstyled = (voices.build(each, Language.ENGLISH_US).style for each in (make_parameters(), neutral))
    assert styled.shape == (510, 256)
    assert styled.dtype == np.float32
    difference = styled - unstyled
    assert np.allclose(difference, difference[0], atol=1e-5)
    assert np.allclose(difference[0, :STYLE], make_parameters().timbre, atol=1e-5)


def test_in_english_the_parameters_are_used_as_they_are() -> None:
    voice = make_parameters()
    for language in (Language.ENGLISH_US, Language.ENGLISH_GB):
        assert np.array_equal(voice.layer_offsets_in(language), voice.layer_offsets)
        assert np.array_equal(voice.melody_in(language), voice.melody)
        assert voice.pitch_scale_in(language) == voice.pitch_scale


def native_offset(language: Language) -> npt.NDArray[np.float32]:
    """The mean style of the voices of a language, minus that of all voices."""
    rows = {voice.key: voice.style[60:120].mean(axis=0) for voice in load_built_in_voices()}
    own = [rows[voice.key] for voice in load_built_in_voices() if voice.language is language]
    offset: npt.NDArray[np.float32] = np.mean(own, axis=0) - np.mean(list(rows.values()), axis=0)
    return offset


FOREIGN = [language for language in Language if language is language.base and not language.english]


@pytest.mark.parametrize("language", FOREIGN)
def test_in_other_languages_melody_and_layers_become_native(language: Language) -> None:
    voice, native, accent = make_parameters(), native_offset(language.articulation), load_clone_accent(language)
    if load_accent(language).prosody is None:
        assert np.allclose(voice.melody_in(language) - voice.melody, native[STYLE:], atol=1e-4)
    own = np.float32(accent.clone_gain) * voice.foreign_layer_offsets
    changes = voice.layer_offsets_in(language) - own - accent.offset
    expected = remove_gender(native[:STYLE] - voice.timbre)
    for change, native_share, timbre_gain in zip(changes, *accent.shares, strict=True):
        assert np.allclose(change - timbre_gain * voice.timbre, native_share * expected, atol=1e-4)


@pytest.mark.parametrize("language", FOREIGN)
def test_the_first_layers_are_native_and_the_last_ones_the_persons_own(language: Language) -> None:
    accent = load_accent(language)
    assert accent.offset.shape == (LAYERS, STYLE)
    native_share, timbre_gain = accent.shares
    assert native_share[:5].mean() > native_share[-2:].mean()
    assert np.abs(timbre_gain).max() < 1
    assert np.abs(accent.offset).max() < 1
    learned = language.row or language in (Language.SPANISH, Language.FRENCH, Language.PORTUGUESE_BR)
    assert accent.offset.any() == bool(learned)


WITHOUT_VOICES = [language for language in FOREIGN if language.row]


@pytest.mark.parametrize("language", WITHOUT_VOICES)
def test_a_clone_has_less_of_the_accent_than_a_built_in_voice_where_it_has_offsets_of_its_own(
    language: Language,
) -> None:
    clones, all_voices = load_clone_accent(language), load_accent(language)
    assert np.array_equal(clones.offset[:-4], all_voices.offset[:-4])
    assert np.array_equal(clones.shares[:, :-4], all_voices.shares[:, :-4])
    lengths, others = (np.linalg.norm(accent.offset[-4:], axis=1) for accent in (clones, all_voices))
    assert (lengths < 0.7 * others).all()
    assert (np.abs(clones.shares[0, -4:]) < 0.6 * np.abs(all_voices.shares[0, -4:])).all()
    assert (clones.shares[1, -4:] > all_voices.shares[1, -4:]).all()


def test_a_clone_has_no_native_timbre_in_the_last_layers_in_german() -> None:
    clones, all_voices = load_clone_accent(Language.GERMAN), load_accent(Language.GERMAN)
    assert not clones.shares[0, -4:].any()
    assert np.allclose(clones.offset[-4:], 0.25 * all_voices.offset[-4:])


def test_a_clone_has_the_whole_accent_where_that_was_trained_with_clones() -> None:
    assert load_clone_accent(Language.FRENCH) is load_accent(Language.FRENCH)


def test_without_an_accent_of_its_own_a_language_has_that_of_the_one_it_is_articulated_like(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert load_accent(Language.DUTCH) is not load_accent(Language.DUTCH.articulation)
    monkeypatch.delitem(_load_accents(), Language.DUTCH)
    assert load_accent(Language.DUTCH) is load_accent(Language.DUTCH.articulation)
    voice = make_parameters()
    assert np.array_equal(voice.layer_offsets_in(Language.DUTCH), voice.layer_offsets_in(Language.DUTCH.articulation))


def test_a_learned_accent_changes_the_prosody_and_leaves_the_pitch(voices: VoiceCatalogue) -> None:
    heart, clone = voices.find("af_heart"), make_parameters()
    change = heart.style_in(Language.GERMAN) - heart.style
    assert not change[:, :STYLE].any()
    assert np.allclose(change, change[0], atol=1e-5)
    clones_change = clone.melody_in(Language.GERMAN) - clone.melody
    for each in (change[0, STYLE:], clones_change):
        assert np.linalg.norm(each) > 0.01
        assert abs(each @ _pitch_axis()) < 1e-4
    assert clone.pitch_scale_in(Language.GERMAN) == clone.pitch_scale


def test_a_built_in_voice_articulates_other_languages_like_their_own_voices(voices: VoiceCatalogue) -> None:
    heart, native = voices.find("af_heart"), native_offset(Language.ITALIAN)
    for language in (Language.ENGLISH_US, Language.ENGLISH_GB):
        assert heart.layer_offsets_in(language) is NO_LAYER_OFFSETS
    assert voices.find("pf_dora").layer_offsets_in(Language.PORTUGUESE_BR) is NO_LAYER_OFFSETS
    timbre = find_timbre(heart.style)
    articulated = timbre + heart.layer_offsets_in(Language.ITALIAN) - load_accent(Language.ITALIAN).offset
    distances = np.linalg.norm(articulated - native[:STYLE], axis=1)
    assert distances[:5].max() < 0.5 * np.linalg.norm(timbre - native[:STYLE])
    assert distances[-2:].min() > distances[:5].max()


def remove_gender(timbre: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Without its part in the direction from the mean woman to the mean man."""
    women, men = (
        np.mean(
            [voice.style[60:120, :STYLE].mean(axis=0) for voice in load_built_in_voices() if voice.gender == gender],
            axis=0,
        )
        for gender in ("female", "male")
    )
    axis = (men - women) / np.linalg.norm(men - women)
    without: npt.NDArray[np.float32] = timbre - axis * (axis @ timbre)
    return without


def test_an_older_voice_has_half_of_its_layer_offsets_in_other_languages() -> None:
    stored = make_parameters().to_json()
    del stored["abroad"], stored["colour"]
    voice = VoiceParameters.from_json(stored)
    assert np.array_equal(voice.foreign_layer_offsets[:-1], 0.5 * voice.layer_offsets[:-1])
    assert np.array_equal(voice.foreign_layer_offsets[-1], voice.layer_offsets[-1])


def test_an_older_voice_has_no_vocoder_embedding() -> None:
    stored = make_parameters().to_json()
    del stored["grain"]
    assert not VoiceParameters.from_json(stored).vocoder_embedding.any()


def test_similarity_boost_scales_all_parameters_of_a_clone(voices: VoiceCatalogue) -> None:
    weaker, language = VoiceSettings(similarity_boost=0), Language.ENGLISH_US
    voice = voices.build(with_mask(), language)
    assert np.allclose(weaker.layer_offsets(voice, language), 0.6 * make_parameters().layer_offsets, atol=1e-6)
    assert np.allclose(weaker.vocoder_embedding(voice), 0.6 * make_parameters().vocoder_embedding, atol=1e-6)
    assert np.allclose(weaker.mask_offset(voice), 0.6 * with_mask().mask_offset, atol=1e-6)
    assert np.allclose(weaker.equalizer_gains(voice), 0.6 * make_parameters().equalizer_gains, atol=1e-6)


def test_each_sentence_uses_the_parameters_of_its_language(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    class Engine(FakeEngine):
        def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
            spoken.append(utterance)
            return super().synthesize(utterance)

    spoken: list[Utterance] = []
    text = "Good morning to all of you. ¿Dónde está la biblioteca, por favor?"
    voice = voices.build(with_mask(), Language.ENGLISH_US)
    list(Pipeline(Engine(), phonemizer).synthesize(SynthesisRequest(text, voice)))
    for utterance, language in zip(spoken, (Language.ENGLISH_US, Language.SPANISH), strict=True):
        assert np.array_equal(utterance.layer_offsets, make_parameters().layer_offsets_in(language))
        assert np.array_equal(utterance.style, voice.style_in(language))
        assert utterance.pitch_scale == make_parameters().pitch_scale_in(language)
        assert np.array_equal(utterance.vocoder_embedding, make_parameters().vocoder_embedding)
        assert np.array_equal(utterance.mask_offset, with_mask().mask_offset)
    assert not np.array_equal(spoken[0].style, spoken[1].style)
