"""The catalogue: which voice an id, a key or a name stands for."""

import re

import numpy as np
import pytest

from svc.errors import VoiceNotFound
from svc.text.language import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue


def test_there_are_54_voices_in_all_languages(voices: VoiceCatalogue) -> None:
    built_in = list(voices)
    assert len(built_in) == 54
    assert {voice.language for voice in built_in} == set(Language)
    assert len({voice.name for voice in built_in}) == 54
    assert len({voice.voice_id for voice in built_in}) == 54
    assert all(re.fullmatch("[A-Za-z0-9]{20}", voice.voice_id) for voice in built_in)
    assert all(voice.style.shape == (510, 256) and np.isfinite(voice.style).all() for voice in built_in)


def test_a_voice_is_found_by_id_key_and_name(voices: VoiceCatalogue) -> None:
    sarah = voices.find("af_sarah")
    assert voices.find(sarah.voice_id) is voices.find("Sarah") is voices.find("AF_SARAH") is sarah


def test_unknown_ids_are_spoken_by_the_default_voice(voices: VoiceCatalogue) -> None:
    assert voices.resolve("nobody") is voices.find("af_heart")
    assert VoiceCatalogue(load_built_in_voices(), default="bm_george").resolve("nobody").key == "bm_george"


def test_well_known_ids_of_the_imitated_api_are_found(voices: VoiceCatalogue) -> None:
    assert voices.resolve("EXAVITQu4vr4xnSDxMaL").key == "af_sarah"
    assert voices.resolve("JBFqnCBsd6RMkjVDRZzb").gender == "male"


def test_a_strict_catalogue_refuses_unknown_ids() -> None:
    strict = VoiceCatalogue(load_built_in_voices(), strict=True)
    for unknown in ("nobody", "EXAVITQu4vr4xnSDxMaL", "x" * 10_000, ""):
        with pytest.raises(VoiceNotFound) as error:
            strict.resolve(unknown)
        assert len(error.value.message) < 200


def test_an_unknown_default_voice_is_refused_at_startup() -> None:
    with pytest.raises(VoiceNotFound, match="nobody"):
        VoiceCatalogue(load_built_in_voices(), default="nobody")
