"""Mixes of voices: how they are written, what they are made of, and how they are kept."""

from pathlib import Path

import numpy as np
import pytest

from svc.auth.keys import ANYONE, COMMAND_LINE, KeyLimits, Principal, Quota, Scope
from svc.cloning.mixer import VoiceMixer
from svc.errors import VoiceLimitReached, VoiceNotFound
from svc.service import create_custom_voices, create_voices
from svc.settings import Settings
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.custom_voices import CustomVoices
from svc.voices.mixes import MAX_PARTS, parse_mix, write_mix
from svc.voices.settings import VoiceSettings
from tests.voices.examples import make_voice


@pytest.fixture
def catalogue() -> VoiceCatalogue:
    return VoiceCatalogue(load_built_in_voices(), strict=True)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("af_bella(3)+af_nicole(1)", [("af_bella", 3), ("af_nicole", 1)]),
        ("af_bella+af_sky", [("af_bella", 1), ("af_sky", 1)]),
        (" af_bella (0.25) + Alpha (Hindi) (2) ", [("af_bella", 0.25), ("Alpha (Hindi)", 2)]),
        ("af_bella(.5)+af_sky", [("af_bella", 0.5), ("af_sky", 1)]),
    ],
)
def test_a_mix_is_read_and_written(written: str, parts: list[tuple[str, float]]) -> None:
    assert parse_mix(written) == parts
    assert parse_mix(write_mix(parts)) == parts


@pytest.mark.parametrize(
    "malformed",
    [
        "+",
        "af_bella+",
        "+af_bella",
        "af_bella++af_sky",
        "af_bella(0)+af_sky",
        "af_bella()+af_sky",
        "af_bella(1.2.3)+af_sky",
        "af_bella(9999999)+af_sky",
        "(3)+af_sky",
        "+".join(["af_bella"] * (MAX_PARTS + 1)),
        f"{'x' * 600}+af_sky",
        "af_bella(-1)+af_sky",
        "af_bella(nan)+af_sky",
        "af_bella+nobody",
        "nobody (anywhere)",
        "nobody(2)",
    ],
)
def test_what_is_no_mix_of_known_voices_is_not_found(catalogue: VoiceCatalogue, malformed: str) -> None:
    with pytest.raises(VoiceNotFound) as error:
        catalogue.resolve(malformed, ANYONE)
    assert len(error.value.message) < 250


def test_without_strict_voices_it_is_spoken_by_the_default_voice(voices: VoiceCatalogue) -> None:
    assert voices.resolve("af_bella+nobody", ANYONE) is voices.default


def test_the_style_is_the_weighted_mean(catalogue: VoiceCatalogue) -> None:
    bella, nicole = catalogue.find("af_bella"), catalogue.find("af_nicole")
    mix = catalogue.find("af_bella(3)+af_nicole(1)")
    np.testing.assert_allclose(mix.style, 0.75 * bella.style + 0.25 * nicole.style, atol=1e-6)
    np.testing.assert_array_equal(catalogue.find("af_bella(3)+af_nicole(1)").style, mix.style)
    assert (mix.voice_id, mix.name) == ("af_bella(3)+af_nicole", "Bella 75% + Nicole 25%")
    assert (mix.language, mix.gender, mix.accent) == (Language.ENGLISH_US, "female", "american")


def test_the_language_is_that_of_the_larger_part_and_what_differs_is_unknown(catalogue: VoiceCatalogue) -> None:
    mix = catalogue.find("af_bella(1)+em_alex(2)")
    assert (mix.language, mix.gender, mix.accent) == (Language.SPANISH, "", "")


def test_a_mix_of_one_voice_is_that_voice(catalogue: VoiceCatalogue) -> None:
    bella = catalogue.find("af_bella")
    assert catalogue.find("af_bella(2)") is catalogue.find("af_bella+AF_BELLA(3)") is bella


def test_a_voice_whose_name_looks_like_a_mix_comes_first(catalogue: VoiceCatalogue) -> None:
    stored = make_voice("Anna+Berta (3)")
    catalogue.replace_custom([stored])
    assert catalogue.find("anna+berta (3)").voice_id == stored.voice_id


def test_clones_are_mixed_in_all_that_makes_them(catalogue: VoiceCatalogue) -> None:
    one, other = make_voice("Anna"), make_voice("Berta")
    catalogue.replace_custom([one, other])
    mix = catalogue.find(f"{one.voice_id}(1)+{other.voice_id}(3)")
    anna, berta = catalogue.find(one.voice_id), catalogue.find(other.voice_id)
    for language in (Language.ENGLISH_US, Language.FRENCH):
        assert mix.style_in(language) == pytest.approx(
            0.25 * anna.style_in(language) + 0.75 * berta.style_in(language), abs=1e-5
        )
        assert mix.layer_offsets_in(language) == pytest.approx(
            0.25 * anna.layer_offsets_in(language) + 0.75 * berta.layer_offsets_in(language), abs=1e-5
        )
    assert mix.custom_parts == (one, other)
    assert not catalogue.find("af_bella+af_sky").custom_parts


def test_similarity_brings_a_mix_nearer_to_the_mean_voice(catalogue: VoiceCatalogue) -> None:
    mix = catalogue.find("af_bella+am_adam")
    full, less = (VoiceSettings(similarity_boost=each).style_table(mix, mix.language) for each in (0.75, 0.0))
    timbre = slice(0, 128)
    assert np.abs(less - mix.neutral)[:, timbre].sum() < np.abs(full - mix.neutral)[:, timbre].sum()


@pytest.fixture
def server(tmp_path: Path) -> tuple[VoiceCatalogue, CustomVoices, VoiceMixer]:
    settings = Settings(data_dir=tmp_path)
    catalogue = VoiceCatalogue(load_built_in_voices())
    custom_voices = create_custom_voices(settings, catalogue)
    return catalogue, custom_voices, VoiceMixer(catalogue, custom_voices, Quota(10, 10))


def test_a_kept_mix_sounds_as_the_mix_also_after_a_restart_and_without_its_parts(
    server: tuple[VoiceCatalogue, CustomVoices, VoiceMixer], tmp_path: Path
) -> None:
    catalogue, custom_voices, mixer = server
    clone = make_voice("Anna")
    custom_voices.add(clone, b"reference", Quota(10, 10), COMMAND_LINE)
    weights = [("af_bella", 2.0), ("bm_george", 1.0), (clone.voice_id, 1.0)]
    mix, kept = catalogue.mix(weights), mixer.mix(weights, "Mixed", "", ANYONE)
    again = mixer.mix([(kept.voice_id, 3.0), ("jf_alpha", 1.0)], "Mixed again", "Ours.", ANYONE)
    nested = catalogue.mix([*((voice, 0.75 * weight / 4) for voice, weight in weights), ("jf_alpha", 0.25)])
    custom_voices.remove(clone.voice_id)
    restarted = create_voices(Settings(data_dir=tmp_path))
    for expected, stored in ((mix, kept), (nested, again)):
        found = restarted.find(stored.voice_id)
        for language in {each.base for each in Language}:
            assert found.style_in(language) == pytest.approx(expected.style_in(language), abs=2e-3)
            assert found.layer_offsets_in(language) == pytest.approx(expected.layer_offsets_in(language), abs=5e-3)
            assert found.pitch_scale_in(language) == pytest.approx(expected.pitch_scale_in(language))
        assert found.custom is not None
        assert found.language is expected.language
    assert kept.description == "A mix: Bella 50% + George 25% + Anna 25%."
    assert kept.labels["mix"] == f"af_bella(0.5)+bm_george(0.25)+{clone.voice_id}(0.25)"
    assert (again.description, kept.consent, kept.reference) == ("Ours.", True, None)


def test_a_stored_mix_of_voices_that_do_not_exist_is_damaged(
    server: tuple[VoiceCatalogue, CustomVoices, VoiceMixer],
) -> None:
    _, _, mixer = server
    kept = mixer.mix([("af_bella", 1.0), ("af_sky", 1.0)], "Mixed", "", ANYONE)
    for blend in ((("xx_nobody", 0.5),), (("af_bella", 0.7), ("af_sky", 0.7)), (("af_bella", -0.5),)):
        with pytest.raises(DamagedVoice):
            CustomVoice.from_bytes(kept.revise(blend=blend).to_bytes())


def test_a_key_cannot_take_all_places_with_mixes(tmp_path: Path) -> None:
    """Also when two servers share the folder; whoever runs the server may take them all."""
    catalogue = VoiceCatalogue(load_built_in_voices())
    quota = Quota(5, 2)
    servers = [create_custom_voices(Settings(data_dir=tmp_path), catalogue) for _ in range(2)]
    one, other = (VoiceMixer(catalogue, each, quota) for each in servers)

    def keep(mixer: VoiceMixer, caller: Principal) -> None:
        mixer.mix([("af_bella", 1.0), ("bm_george", 1.0)], "Mixed", "", caller)

    ann = Principal("ann", frozenset({Scope.FULL}))
    bob = Principal("bob", frozenset({Scope.FULL}), limits=KeyLimits(max_voices=1))
    keep(one, ann)
    keep(other, ann)
    with pytest.raises(VoiceLimitReached, match="SVC_KEY_MAX_VOICES"):
        keep(one, ann)
    keep(one, bob)
    with pytest.raises(VoiceLimitReached, match="This key has 1"):
        keep(other, bob)
    for _ in range(2):
        keep(other, ANYONE)
    with pytest.raises(VoiceLimitReached, match="SVC_MAX_CUSTOM_VOICES"):
        keep(one, ANYONE)
