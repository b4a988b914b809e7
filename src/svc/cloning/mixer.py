"""Keeps a mix of voices as a custom voice, which goes on to exist when a voice in it is changed or removed."""

import logging
import time
from collections.abc import Iterator, Sequence

from svc.auth.keys import Principal, Quota
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.custom_voice import NOT_MEASURED, CustomVoice, new_id
from svc.voices.custom_voices import CustomVoices
from svc.voices.mixes import describe_mix, write_mix
from svc.voices.parameters import VoiceParameters

log = logging.getLogger(__name__)


class VoiceMixer:
    def __init__(self, voices: VoiceCatalogue, custom_voices: CustomVoices, quota: Quota) -> None:
        self._voices = voices
        self._custom_voices = custom_voices
        self._quota = quota

    def mix(self, weights: Sequence[tuple[str, float]], name: str, description: str, caller: Principal) -> CustomVoice:
        """Stores the weighted mean of the voices with these ids. Raises `VoiceNotFound` if one does not exist."""
        self._custom_voices.require_room(self._quota, caller)
        voice = self._voices.mix(weights, caller)
        parts = voice.parts or ((voice, 1.0),)
        leaves = list(_list_leaves(parts))
        clones = [(leaf.parameters, share) for leaf, share in leaves if leaf.parameters is not None]
        now = time.time()
        custom = CustomVoice(
            voice_id=new_id(),
            name=name,
            description=description or f"A mix: {describe_mix([(part.name, share) for part, share in parts])}.",
            labels=_label(voice, parts),
            language=voice.language,
            parameters=VoiceParameters.mean(clones),
            blend=tuple((leaf.key, share) for leaf, share in leaves if leaf.parameters is None),
            report=NOT_MEASURED,
            created_at=int(now),
            changed_at=now,
            key_id=caller.key_id,
            consent=all(each.consent for each in voice.custom_parts),
        )
        self._custom_voices.add(custom, None, self._quota, caller)
        log.info("key %s mixed the voice %s", caller.key_id, custom.voice_id)
        return custom


def _list_leaves(parts: Sequence[tuple[Voice, float]]) -> Iterator[tuple[Voice, float]]:
    """The built-in and cloned voices and their shares, also those within kept mixes."""
    for voice, share in parts:
        if voice.parts:
            yield from ((leaf, share * own) for leaf, own in _list_leaves(voice.parts))
        else:
            yield voice, share


def _label(voice: Voice, parts: Sequence[tuple[Voice, float]]) -> dict[str, str]:
    mix = write_mix([(part.key, round(share, 3)) for part, share in parts])
    labels = {"gender": voice.gender, "accent": voice.accent, "mix": mix}
    return {name: value for name, value in labels.items() if value}
