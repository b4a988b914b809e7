"""The voices that the service can speak with: built-in and cloned ones, found by id, key or name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from svc.engine.protocol import StyleTable
from svc.errors import VoiceNotFound
from svc.text.language import Language
from svc.voices.built_in import KokoroVoice
from svc.voices.custom_voice import CustomVoice
from svc.voices.parameters import VoiceParameters

FALLBACK_VOICE = "af_heart"

# Voice ids that clients of the imitated API have built in, and the voices that answer to them here.
_WELL_KNOWN_IDS = {
    "EXAVITQu4vr4xnSDxMaL": "af_sarah",
    "21m00Tcm4TlvDq8ikWAM": "af_heart",
    "JBFqnCBsd6RMkjVDRZzb": "bm_george",
    "hpp4J3VqNfWAUOO0d1Us": "af_bella",
    "bIHbv24MWmeRgasZH58o": "am_michael",
    "piTKgcLEGmPE4e6mEKli": "af_nicole",
    "pNInz6obpgDQGcFmaJgB": "am_adam",
    "5Q0t7uMcjvnagumLfvZi": "am_puck",
    "AZnzlk1XvdvUeBnXmlld": "af_nova",
    "D38z5RcWu1voky8WS1ja": "am_fenrir",
    "2EiwWnXFnvU5JabPnv8n": "am_eric",
    "9BWtsMINqrJLrRacOk9x": "af_aoede",
    "29vD33N1CtxCmqQRPOHJ": "am_onyx",
    "CwhRBWXzGAHq8TQ4Fs17": "am_liam",
    "CYw3kZ02Hs0563khs1Fj": "am_echo",
}


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
    table: StyleTable | None = None
    """The style of a built-in voice."""
    parameters: VoiceParameters | None = None
    """The parameters of a cloned voice."""
    custom: CustomVoice | None = None
    """The stored record of a cloned voice; None while it has not been stored."""

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
            voice.style,
        )

    @property
    def style(self) -> StyleTable:
        return self.style_in(self.language)

    def style_in(self, language: Language) -> StyleTable:
        """The style table for a language. A built-in voice has one for all of them."""
        if self.table is not None:
            return self.table
        assert self.parameters is not None
        # Half a megabyte, computed on each use: keeping it for every clone would cost more than making it.
        own = np.concatenate([self.parameters.timbre, self.parameters.melody_in(language)])
        style: StyleTable = self.neutral + own
        return style

    def pitch_scale_in(self, language: Language) -> float:
        """The factor by which the predicted pitch is multiplied."""
        return self.parameters.pitch_scale_in(language) if self.parameters else 1.0


class VoiceCatalogue:
    """All voices. An unknown id is spoken by the default voice, unless `strict`.

    Cloned voices change while other threads read: each change replaces the dictionary, and a request that holds a
    `Voice` keeps it to its end even if the voice is removed.
    """

    def __init__(self, built_in: Iterable[KokoroVoice], default: str = FALLBACK_VOICE, strict: bool = False) -> None:
        voices = [Voice.of_built_in(each) for each in built_in]
        self._built_in = {voice.voice_id: voice for voice in voices}
        self._by_name = {**{voice.key: voice for voice in voices}, **{voice.name.lower(): voice for voice in voices}}
        self._custom: dict[str, Voice] = {}
        self._mean_style = np.mean([voice.style for voice in voices], axis=0)
        self._strict = strict
        self._well_known_ids = {} if strict else _WELL_KNOWN_IDS
        self._default = default
        if not default.startswith("custom-"):  # cloned voices are loaded later
            self.find(default)

    @property
    def default(self) -> Voice:
        """The voice for unknown ids. If it is a cloned voice that does not exist, the fallback."""
        try:
            return self.find(self._default)
        except VoiceNotFound:
            return self.find(FALLBACK_VOICE)

    def __iter__(self) -> Iterator[Voice]:
        yield from self._built_in.values()
        yield from self._custom.values()

    def find(self, voice_id: str) -> Voice:
        """The voice with that id, key or name; unless strict, also the one for a well-known id.

        If several voices have a name, a built-in one comes first, then the one that was created first.
        """
        known = self._well_known_ids.get(voice_id, voice_id)
        voice = self._built_in.get(known) or self._custom.get(known) or self._by_name.get(known.lower())
        if voice is None:
            voice = next((each for each in self._custom.values() if each.name.lower() == known.lower()), None)
        if voice is None:
            raise VoiceNotFound(voice_id)
        return voice

    def find_or_none(self, voice_id: str) -> Voice | None:
        """The same; None for an unknown one."""
        try:
            return self.find(voice_id)
        except VoiceNotFound:
            return None

    def resolve(self, voice_id: str) -> Voice:
        """The voice that speaks for an id, known or not."""
        try:
            return self.find(voice_id)
        except VoiceNotFound:
            if self._strict:
                raise
            return self.default

    def replace_custom(self, voices: Iterable[CustomVoice]) -> None:
        """Replaces all cloned voices by these."""
        oldest_first = sorted(voices, key=lambda voice: (voice.created_at, voice.voice_id))
        self._custom = {voice.voice_id: self.build_custom(voice) for voice in oldest_first}

    def build(self, parameters: VoiceParameters, language: Language) -> Voice:
        """A cloned voice that can speak, without adding it to the catalogue."""
        return Voice("", "", "", language, "", "", neutral=self._mean_style, parameters=parameters)

    def build_custom(self, voice: CustomVoice) -> Voice:
        """A stored voice as one that can speak, without adding it to the catalogue."""
        return replace(
            self.build(voice.parameters, voice.language),
            voice_id=voice.voice_id,
            name=voice.name,
            key=voice.voice_id,
            accent=voice.labels.get("accent", ""),
            gender=voice.labels.get("gender", ""),
            custom=voice,
        )
