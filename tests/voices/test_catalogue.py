"""The catalogue: which voice an id, a key or a name stands for."""

import re

import numpy as np
import pytest

from svc.auth.keys import ANYONE, Principal, Scope
from svc.errors import VoiceNotFound
from svc.text.language import Language
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


def test_an_unknown_default_voice_is_refused_at_startup() -> None:
    with pytest.raises(VoiceNotFound, match="nobody"):
        VoiceCatalogue(load_built_in_voices(), default="nobody")


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
