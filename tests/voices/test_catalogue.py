"""The catalogue: which voice an id, a key or a name stands for."""

import re
from dataclasses import replace

import numpy as np
import pytest

from svc.auth.keys import ANYONE, Principal, Scope
from svc.errors import VoiceNotFound
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from tests.voices.examples import make_voice


def test_there_are_54_voices_in_nine_languages(voices: VoiceCatalogue) -> None:
    built_in = list(voices)
    assert len(built_in) == 54
    assert {voice.language for voice in built_in} == {each.base for each in Language if not each.row}
    assert len({voice.name for voice in built_in}) == 54
    assert len({voice.voice_id for voice in built_in}) == 54
    assert all(re.fullmatch("[A-Za-z0-9]{20}", voice.voice_id) for voice in built_in)
    assert all(voice.style.shape == (510, 256) and np.isfinite(voice.style).all() for voice in built_in)


def test_a_voice_is_found_by_id_key_and_name(voices: VoiceCatalogue) -> None:
    sarah = voices.find("af_sarah")
    assert voices.find(sarah.voice_id) is voices.find("Sarah") is voices.find("AF_SARAH") is sarah


def test_unknown_ids_are_spoken_by_the_default_voice(voices: VoiceCatalogue) -> None:
    assert voices.resolve("nobody", ANYONE) is voices.find("af_heart")
    assert VoiceCatalogue(load_built_in_voices(), default="bm_george").resolve("nobody", ANYONE).key == "bm_george"


def test_well_known_ids_of_the_imitated_api_are_found(voices: VoiceCatalogue) -> None:
    assert voices.resolve("EXAVITQu4vr4xnSDxMaL", ANYONE).key == "af_sarah"
    assert voices.resolve("JBFqnCBsd6RMkjVDRZzb", ANYONE).gender == "male"


def test_a_strict_catalogue_refuses_unknown_ids() -> None:
    strict = VoiceCatalogue(load_built_in_voices(), strict=True)
    for unknown in ("nobody", "EXAVITQu4vr4xnSDxMaL", "x" * 10_000, ""):
        with pytest.raises(VoiceNotFound) as error:
            strict.resolve(unknown, ANYONE)
        assert len(error.value.message) < 200


def test_a_default_voice_that_does_not_exist_is_replaced_by_the_fallback() -> None:
    voices = VoiceCatalogue(load_built_in_voices(), default="custom-nope")
    with pytest.raises(VoiceNotFound, match="custom-nope"):
        voices.find_default()
    assert voices.default.key == "af_heart"


def test_legacy_names_and_their_ids_have_a_voice(voices: VoiceCatalogue) -> None:
    assert len(voices.legacy_names) == 9
    for name, voice_id in voices.legacy_names.items():
        assert voices.find(voice_id).built_in
        assert voices.find(name.upper()).built_in
    assert voices.find("Bella").key == "af_bella", "a built-in voice comes first"
    strict = VoiceCatalogue(load_built_in_voices(), strict=True)
    assert not strict.legacy_names
    with pytest.raises(VoiceNotFound):
        strict.find("Rachel")


def test_a_private_voice_exists_for_its_owner_and_the_operator_only() -> None:
    one, other, environment = (
        Principal(key_id, frozenset({Scope.FULL})) for key_id in ("0a1b2c", "3d4e5f", "static-1")
    )
    owned, common = make_voice("Anna", key_id="0a1b2c"), make_voice("Berta", key_id="static-1")
    for private in (False, True):
        voices = VoiceCatalogue(load_built_in_voices(), private=private)
        voices.replace_custom([owned, common])
        for caller in (one, environment, ANYONE):
            assert voices.find(owned.voice_id, caller).custom is voices.find("anna", caller).custom is owned
            assert len(voices.list_for(caller)) == 56
        assert voices.find("Berta", other).custom is common
        if not private:
            assert voices.find("Anna", other).custom is owned
            continue
        for name in (owned.voice_id, "Anna"):
            with pytest.raises(VoiceNotFound):
                voices.find(name, other)
            assert voices.resolve(name, other) is voices.default
        assert len(voices.list_for(other)) == 55
        voices.replace_custom([owned, make_voice("Anna", key_id="3d4e5f")])
        assert voices.find("Anna", other).custom is not owned, "a hidden voice hides no other of its name"


def _key(key_id: str) -> Principal:
    return Principal(key_id, frozenset({Scope.FULL}))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("prefix", ["", "custom", "custom-"])
def test_ids_of_custom_voices_are_found_as_clients_send_them(prefix: str, strict: bool) -> None:
    voices = VoiceCatalogue(load_built_in_voices(), strict=strict)
    plain, prefixed = make_voice(), replace(make_voice(), voice_id="custom-customABCDEFGHIJKLMN")
    voices.replace_custom([plain, prefixed])
    for voice in (plain, prefixed):
        given = prefix + voice.voice_id.removeprefix("custom-")
        assert voices.find(given).custom is voice
        assert voices.find(f"{given}(2)+af_sky").custom_parts == (voice,)
        assert voices.resolve(given, _key("0a1b2c")).custom is voice
    assert voices.find("svcAfHeart0000000000").key == "af_heart", "an id of a built-in voice comes first"
    for unknown in (prefix + "x" * 20, plain.voice_id.upper(), f"{plain.voice_id}x", f"custom--{plain.voice_id[7:]}"):
        with pytest.raises(VoiceNotFound):
            voices.find(unknown)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Rachel", "af_heart"),
        ("sam", "am_eric"),
        ("21m00Tcm4TlvDq8ikWAM", "af_heart"),
        ("af_bella(3)+af_nicole(1)", "af_bella(3)+af_nicole"),
        ("Bella + Rachel", "af_bella+af_heart"),
        ("af_sky(2)", "af_sky"),
        ("Heart", "af_heart"),
        ("af_heart", "af_heart"),
    ],
)
def test_the_voice_of_another_key_takes_no_name_from_anything_else(name: str, meant: str) -> None:
    voices = VoiceCatalogue(load_built_in_voices())
    voices.replace_custom([make_voice(name, key_id="0a1b2c")])
    for other in ("3d4e5f", "static-1", "wyoming"):
        assert voices.find(name, _key(other)).key == voices.resolve(name, _key(other)).key == meant
    common = voices.find_common(name)
    assert common is not None
    assert common.key == meant


def test_a_key_finds_its_own_voice_of_a_name_before_those_of_others() -> None:
    voices = VoiceCatalogue(load_built_in_voices())
    first = replace(make_voice("Anna", key_id="0a1b2c"), created_at=1)
    second, third = make_voice("Anna", key_id="3d4e5f"), make_voice("Rachel", key_id="3d4e5f")
    voices.replace_custom([first, second, third])
    assert voices.find("anna", _key("3d4e5f")).custom is second
    assert voices.find("Rachel", _key("3d4e5f")).custom is third
    assert voices.find("Anna+Rachel", _key("3d4e5f")).custom_parts == (second, third)
    assert voices.find("Anna", _key("static-1")).custom is first, "shared voices have names for all"
    assert voices.find("Anna+Rachel", _key("static-1")).custom_parts == (first,)
    with pytest.raises(VoiceNotFound):
        voices.find("Anna", _key("static-1"), names_of_others=False)
    listed = [voice.custom for voice in voices.list_for(_key("3d4e5f")) if voice.custom]
    assert [each for each in listed if each.name == "Anna"] == [second, first]
    voices.replace_custom([make_voice("Rachel")])
    assert voices.find("Rachel", _key("static-1")).custom, "whoever runs the server names voices for all"


def test_a_name_like_a_mix_of_nothing_is_a_name() -> None:
    voices = VoiceCatalogue(load_built_in_voices())
    voices.replace_custom([voice := make_voice("Anna (2)", key_id="0a1b2c"), make_voice("Anna", key_id="0a1b2c")])
    assert voices.find("Anna (2)", _key("3d4e5f")).custom is voice
