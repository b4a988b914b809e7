import re

import numpy as np
import pytest

from svc.errors import VoiceNotFound
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue, built_in


def test_all_voices_of_all_languages(voices: VoiceCatalogue) -> None:
    everyone = list(voices)
    assert len(everyone) == 54
    assert {voice.language for voice in everyone} == set(Language)
    assert len({voice.name for voice in everyone}) == 54
    assert len({voice.voice_id for voice in everyone}) == 54
    assert all(re.fullmatch("[A-Za-z0-9]{20}", voice.voice_id) for voice in everyone)
    assert all(voice.style.shape == (510, 256) and np.isfinite(voice.style).all() for voice in everyone)


def test_a_voice_is_found_by_id_key_and_name(voices: VoiceCatalogue) -> None:
    sarah = voices.find("af_sarah")
    assert voices.find(sarah.voice_id) is voices.find("Sarah") is voices.find("AF_SARAH") is sarah


def test_unknown_ids_are_spoken_by_the_default_voice(voices: VoiceCatalogue) -> None:
    assert voices.resolve("nobody") is voices.find("af_heart")
    assert VoiceCatalogue(built_in(), default="bm_george").resolve("nobody").key == "bm_george"


def test_ids_of_the_imitated_api_get_a_voice_of_their_gender(voices: VoiceCatalogue) -> None:
    assert voices.resolve("EXAVITQu4vr4xnSDxMaL").key == "af_sarah"
    assert voices.resolve("JBFqnCBsd6RMkjVDRZzb").gender == "male"


def test_strict(voices: VoiceCatalogue) -> None:
    strict = VoiceCatalogue(built_in(), strict=True)
    for unknown in ("nobody", "EXAVITQu4vr4xnSDxMaL", "x" * 10_000, ""):
        with pytest.raises(VoiceNotFound) as error:
            strict.resolve(unknown)
        assert len(error.value.message) < 200


def test_wrong_default_voice_is_an_error_at_once() -> None:
    with pytest.raises(VoiceNotFound, match="nobody"):
        VoiceCatalogue(built_in(), default="nobody")
