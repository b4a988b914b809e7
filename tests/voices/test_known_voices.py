"""Voices of other APIs: each is spoken by a voice that exists."""

from svc.voices import known_voices
from svc.voices.built_in import load_built_in_voices


def test_every_known_voice_is_spoken_by_a_built_in_one() -> None:
    built_in = {voice.key for voice in load_built_in_voices()}
    assert {*known_voices.OPENAI_NAMES.values(), *known_voices.IDS.values()} <= built_in
    assert set(known_voices.LEGACY_NAMES.values()) <= set(known_voices.IDS)


def test_names_that_voices_here_have_are_not_given_to_others() -> None:
    names = {voice.name.lower() for voice in load_built_in_voices()}
    assert not names & set(known_voices.OPENAI_NAMES)
