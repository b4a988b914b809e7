"""The voices that the service can speak with: built-in and cloned ones, found by id, key or name."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.auth.keys import ANYONE, COMMAND_LINE_ID, Principal
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_MASK_OFFSET, NO_VOCODER_EMBEDDING, StyleTable
from svc.errors import VoiceNotFound
from svc.text.language.languages import Language
from svc.voices import known_voices
from svc.voices.accents import (
    Accent,
    articulate,
    find_prosody,
    find_timbre,
    load_accent,
    load_native_accent,
    shift_prosody,
)
from svc.voices.built_in import KokoroVoice
from svc.voices.custom_voice import CustomVoice, complete_id
from svc.voices.loudness import find_built_in_loudness, find_gain
from svc.voices.mixes import describe_mix, is_mix, parse_mix, write_mix
from svc.voices.parameters import Vector, VoiceParameters

FALLBACK_VOICE = "af_heart"

_NOBODY = Principal("", frozenset())  # owns no voice


@dataclass(frozen=True, eq=False, slots=True)
class Voice:
    voice_id: str
    name: str
    key: str
    """Kokoro's name for a built-in voice, accepted wherever an id is."""
    language: Language
    accent: str
    gender: str
    neutral: StyleTable
    """What `similarity_boost` blends the voice with: the mean style of its gender or, for a clone, of all voices."""
    built_in: KokoroVoice | None = None
    parameters: VoiceParameters | None = None
    """The parameters of a cloned voice."""
    custom: CustomVoice | None = None
    """The stored record of a custom voice; None while it has not been stored."""
    parts: tuple[tuple["Voice", float], ...] = ()
    """The voices that a mix consists of, and their shares, whose sum is 1."""

    @classmethod
    def of_built_in(cls, voice: KokoroVoice) -> Self:
        return cls(
            voice.voice_id,
            voice.name,
            voice.key,
            voice.language,
            voice.accent,
            voice.gender,
            voice.neutral,
            voice,
        )

    @classmethod
    def of_mix(cls, weighted: Sequence[tuple["Voice", float]]) -> Self:
        """The weighted mean of voices. Its language is that of the voice with the largest share."""
        total = sum(weight for _, weight in weighted)
        parts = tuple((voice, weight / total) for voice, weight in weighted)
        voice_id = write_mix([(voice.key, weight) for voice, weight in weighted])
        accents, genders = {voice.accent for voice, _ in parts}, {voice.gender for voice, _ in parts}
        return cls(
            voice_id,
            describe_mix([(voice.name, weight) for voice, weight in weighted]),
            voice_id,
            max(parts, key=lambda part: part[1])[0].language,
            accents.pop() if len(accents) == 1 else "",
            genders.pop() if len(genders) == 1 else "",
            neutral=_mean((voice.neutral, share) for voice, share in parts),
            parts=parts,
        )

    @property
    def custom_parts(self) -> tuple[CustomVoice, ...]:
        """The custom voices that are heard: itself, or those in a mix."""
        if self.custom:
            return (self.custom,)
        return tuple(custom for part, _ in self.parts for custom in part.custom_parts)

    @property
    def style(self) -> StyleTable:
        return self.style_in(self.language)

    def style_in(self, language: Language) -> StyleTable:
        """The style table for a language. A built-in voice has the timbre of one for all of them."""
        if self.built_in:
            table, accent = self.built_in.style, self._find_accent(language)
            change = shift_prosody(find_prosody(table), accent) if accent else None
            return table if change is None else table + np.concatenate([np.zeros_like(change), change])
        # Half a megabyte, computed on each use: keeping it for every clone would cost more than making it.
        if self.parts:
            return _mean((voice.style_in(language), share) for voice, share in self.parts)
        assert self.parameters is not None
        own = np.concatenate([self.parameters.timbre, self.parameters.melody_in(language)])
        style: StyleTable = self.neutral + own
        return style

    def pitch_scale_in(self, language: Language) -> float:
        """The factor by which the predicted pitch is multiplied."""
        if self.parts:
            return math.exp(sum(share * math.log(voice.pitch_scale_in(language)) for voice, share in self.parts))
        return self.parameters.pitch_scale_in(language) if self.parameters else 1.0

    def gain_in(self, language: Language) -> float:
        """In dB: what brings its speech to the loudness of all voices."""
        return find_gain(self._loudness_in(language))

    def _loudness_in(self, language: Language) -> float | None:
        """In LUFS, without any gain; None if it was not measured yet."""
        if self.parts:
            parts = [(voice._loudness_in(language), share) for voice, share in self.parts]
            measured = [(loudness, share) for loudness, share in parts if loudness is not None]
            return sum(share * loudness for loudness, share in measured) if len(measured) == len(parts) else None
        return self.parameters.loudness_in(language) if self.parameters else find_built_in_loudness(self.key, language)

    @property
    def pace(self) -> float:
        """The factor by which it speaks faster than the mean voice; 1 for a built-in voice."""
        if self.parts:
            return math.exp(sum(share * math.log(voice.pace) for voice, share in self.parts))
        return self.parameters.pace if self.parameters else 1.0

    @property
    def pitch_range(self) -> float:
        """The factor by which its melody is wider than that of the mean voice; 1 for a built-in voice."""
        if self.parts:
            return math.exp(sum(share * math.log(voice.pitch_range) for voice, share in self.parts))
        return self.parameters.pitch_range if self.parameters else 1.0

    def layer_offsets_in(self, language: Language) -> Vector:
        """[11, 128], added to the timbre in each layer."""
        if self.parts:
            return _mean((voice.layer_offsets_in(language), share) for voice, share in self.parts)
        if self.parameters:
            return self.parameters.layer_offsets_in(language)
        accent = self._find_accent(language)
        if accent is None or not self.built_in:
            return NO_LAYER_OFFSETS
        return articulate(find_timbre(self.built_in.style), language, accent)

    def _find_accent(self, language: Language) -> Accent | None:
        """What a built-in voice needs to be clear in a language. English it speaks as it is."""
        if language.english:
            return None
        return load_native_accent(language) if self.language is language else load_accent(language)

    @property
    def vocoder_embedding(self) -> Vector:
        """[256]"""
        if self.parts:
            return _mean((voice.vocoder_embedding, share) for voice, share in self.parts)
        return self.parameters.vocoder_embedding if self.parameters else NO_VOCODER_EMBEDDING

    @property
    def mask_offset(self) -> Vector:
        """[2408]"""
        if self.parts:
            return _mean((voice.mask_offset, share) for voice, share in self.parts)
        return self.parameters.mask_offset if self.parameters else NO_MASK_OFFSET

    @property
    def equalizer_gains(self) -> SpectralEnvelope:
        """[20], in dB."""
        if self.parts:
            return _mean((voice.equalizer_gains, share) for voice, share in self.parts)
        return self.parameters.equalizer_gains if self.parameters else FLAT


def is_of_another_key(voice: Voice, caller: Principal) -> bool:
    """Whether it is neither built in, nor the caller's, nor made on the command line, which speaks for the server."""
    return voice.custom is not None and voice.custom.key_id not in (caller.key_id, COMMAND_LINE_ID)


def _mean(weighted: Iterable[tuple[Vector, float]]) -> Vector:
    first, *others = (np.float32(share) * value for value, share in weighted)
    return sum(others, start=first)


class VoiceCatalogue:
    """All voices. An unknown id is spoken by the default voice, unless `strict`.

    If `private`, a cloned voice is found by the key that it belongs to, and by no other key of the keys table.

    Cloned voices change while other threads read: each change replaces the dictionary, and a request that holds a
    `Voice` keeps it to its end even if the voice is removed.
    """

    def __init__(
        self,
        built_in: Iterable[KokoroVoice],
        default: str = FALLBACK_VOICE,
        strict: bool = False,
        private: bool = False,
    ) -> None:
        voices = [Voice.of_built_in(each) for each in built_in]
        self._built_in = {voice.voice_id: voice for voice in voices}
        self._by_name = {**{voice.key: voice for voice in voices}, **{voice.name.lower(): voice for voice in voices}}
        self._custom: dict[str, Voice] = {}
        self._mean_style = np.mean([voice.style for voice in voices], axis=0)
        self._strict = strict
        self._private = private
        self._well_known_ids = {} if strict else known_voices.IDS
        self.legacy_names: dict[str, str] = {} if strict else known_voices.LEGACY_NAMES
        """Names and ids that clients of the imitated API know; the id of each is a well-known one."""
        self._default = default

    @property
    def default(self) -> Voice:
        """The voice for unknown ids. If it does not exist, because it was removed or is yet to come, the fallback."""
        try:
            return self.find_default()
        except VoiceNotFound:
            return self.find(FALLBACK_VOICE)

    def find_default(self) -> Voice:
        """The voice that was chosen as the default; raises if it does not exist."""
        return self.find(self._default)

    def __iter__(self) -> Iterator[Voice]:
        yield from self._built_in.values()
        yield from self._custom.values()

    def list_for(self, caller: Principal) -> list[Voice]:
        """The voices that the caller may use; those of other keys come last, as when `find` looks for a name."""
        voices = [voice for voice in self if self._may_use(voice, caller)]
        return sorted(voices, key=lambda voice: is_of_another_key(voice, caller))

    def find(self, voice_id: str, caller: Principal = ANYONE, *, names_of_others: bool = True) -> Voice:
        """The voice with that id, key or name, or the mix; unless strict, also that of a well-known id or legacy name.

        If several voices have a name, a built-in one comes first, then the one that was created first; names of other
        keys' voices come last, or not at all, so that nobody can take a name from anybody else. A voice that the caller
        may not use does not exist for them.
        """
        if voice := self._find_one(voice_id, caller, others=False):
            return voice
        with suppress(VoiceNotFound):
            return self._find_mix(voice_id, caller, others=False)
        if names_of_others and (voice := self._find_one(voice_id, caller, others=True)):
            return voice
        return self._find_mix(voice_id, caller, others=names_of_others)

    def _find_one(self, voice_id: str, caller: Principal, *, others: bool) -> Voice | None:
        voice = self._find_by_id(voice_id) or self._by_name.get(voice_id.lower())
        if voice:
            return voice if self._may_use(voice, caller) else None
        named = [each for each in self._custom.values() if each.name.lower() == voice_id.lower()]
        for each in named:
            if not is_of_another_key(each, caller):
                return each
        if legacy := self.legacy_names.get(voice_id.capitalize()):
            return self._find_by_id(legacy)
        return next((each for each in named if others and self._may_use(each, caller)), None)

    def _find_by_id(self, voice_id: str) -> Voice | None:
        if key := self._well_known_ids.get(voice_id):
            return self._by_name[key]
        return self._built_in.get(voice_id) or self._custom.get(complete_id(voice_id))

    def _find_mix(self, voice_id: str, caller: Principal, *, others: bool) -> Voice:
        if not is_mix(voice_id):
            raise VoiceNotFound(voice_id)
        return self.mix(parse_mix(voice_id), caller, names_of_others=others)

    def mix(
        self, weights: Iterable[tuple[str, float]], caller: Principal = ANYONE, *, names_of_others: bool = True
    ) -> Voice:
        """The weighted mean of the voices with these ids, which must exist; of one voice, the voice itself.

        Nothing is kept: a mix is made in about a millisecond.
        """
        parts: dict[Voice, float] = {}
        for voice_id, weight in weights:
            voice = self._find_one(voice_id, caller, others=names_of_others)
            if voice is None:
                raise VoiceNotFound(voice_id)
            parts[voice] = parts.get(voice, 0.0) + weight
        return next(iter(parts)) if len(parts) == 1 else Voice.of_mix(list(parts.items()))

    def find_common(self, voice_id: str) -> Voice | None:
        """The voice with that id, key or name that every caller may use; None if there is none."""
        try:
            return self.find(voice_id, _NOBODY)
        except VoiceNotFound:
            return None

    def resolve(self, voice_id: str, caller: Principal) -> Voice:
        """The voice that speaks for an id, known or not."""
        try:
            return self.find(voice_id, caller)
        except VoiceNotFound:
            if self._strict:
                raise
            return self.default

    def _may_use(self, voice: Voice, caller: Principal) -> bool:
        custom = voice.custom
        return not self._private or custom is None or custom.owner is None or custom.may_be_changed_by(caller)

    def replace_custom(self, voices: Iterable[CustomVoice]) -> None:
        """Replaces all cloned voices by these."""
        oldest_first = sorted(voices, key=lambda voice: (voice.created_at, voice.voice_id))
        self._custom = {voice.voice_id: self.build_custom(voice) for voice in oldest_first}

    def build(self, parameters: VoiceParameters, language: Language) -> Voice:
        """A cloned voice that can speak, without adding it to the catalogue."""
        return Voice("", "", "", language, "", "", neutral=self._mean_style, parameters=parameters)

    def build_custom(self, voice: CustomVoice) -> Voice:
        """A stored voice as one that can speak, without adding it to the catalogue."""
        own, own_share = self.build(voice.parameters, voice.language), 1.0 - sum(share for _, share in voice.blend)
        if voice.blend:
            parts = [(self._by_name[key], share) for key, share in voice.blend]
            own = Voice.of_mix([*parts, (own, own_share)] if own_share > 1e-6 else parts)
        return replace(
            own,
            voice_id=voice.voice_id,
            name=voice.name,
            key=voice.voice_id,
            language=voice.language,
            accent=voice.labels.get("accent", ""),
            gender=voice.labels.get("gender", ""),
            custom=voice,
        )
