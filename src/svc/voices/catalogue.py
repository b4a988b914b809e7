"""The voices: who there is, what they are called, and how they sound."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from svc.engine.protocol import StyleTable
from svc.errors import VoiceNotFound
from svc.text.language import Language

if TYPE_CHECKING:  # what a cloned voice is made of builds on the built-in voices
    from svc.voices.custom_voice import CustomVoice
    from svc.voices.parameters import VoiceParameters

FALLBACK_VOICE = "af_heart"

# Kokoro names a voice by language, gender and a name of its own: af_heart.
_LANGUAGES = {
    "a": (Language.ENGLISH_US, "american"),
    "b": (Language.ENGLISH_GB, "british"),
    "e": (Language.SPANISH, "spanish"),
    "f": (Language.FRENCH, "french"),
    "h": (Language.HINDI, "hindi"),
    "i": (Language.ITALIAN, "italian"),
    "j": (Language.JAPANESE, "japanese"),
    "p": (Language.PORTUGUESE_BR, "brazilian"),
    "z": (Language.MANDARIN, "mandarin"),
}
_GENDERS = {"f": "female", "m": "male"}

# Ids that clients of the imitated API use without being told, and who speaks for them here.
_KNOWN_ELSEWHERE = {
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
    """Kokoro's own name for it, accepted wherever an id is."""
    language: Language
    accent: str
    gender: str
    neutral: StyleTable
    """The average of the voices of this gender: what the voice is like without what is its own."""
    table: StyleTable | None = None
    """The style of a built-in voice."""
    parameters: "VoiceParameters | None" = None
    """What a cloned voice is made of."""
    custom: "CustomVoice | None" = None
    """What is known about a cloned voice that is kept."""

    @property
    def style(self) -> StyleTable:
        return self.style_in(self.language)

    def style_in(self, language: Language) -> StyleTable:
        """A built-in voice has the same in all languages."""
        if self.table is not None:
            return self.table
        assert self.parameters is not None
        # Half a megabyte, made in a moment: only who speaks with a clone needs to hold it.
        own = np.concatenate([self.parameters.timbre, self.parameters.melody_in(language)])
        style: StyleTable = self.neutral + own
        return style

    def pitch_scale_in(self, language: Language) -> float:
        """By which the pitch of its melody is multiplied."""
        return self.parameters.pitch_scale_in(language) if self.parameters else 1.0


def usual(voice: Voice) -> StyleTable:
    """Its style in sentences of the usual length, as one row. [256]"""
    row: StyleTable = voice.style[60:120].mean(axis=0)
    return row


class VoiceCatalogue:
    """The catalogue. An unknown id is spoken by the default voice, unless `strict`.

    Cloned voices come and go while others read: every change is a new dictionary, put in the place of the old one.
    Who speaks with a voice that is removed meanwhile still has it to the end.
    """

    def __init__(self, voices: Iterable[Voice], default: str = FALLBACK_VOICE, strict: bool = False) -> None:
        self._built_in = {voice.voice_id: voice for voice in voices}
        self._by_name = {
            **{voice.key: voice for voice in self._built_in.values()},
            **{voice.name.lower(): voice for voice in self._built_in.values()},
        }
        self._custom: dict[str, Voice] = {}
        self._average = np.mean([voice.style for voice in self._built_in.values()], axis=0)
        self._strict = strict
        self._elsewhere = {} if strict else _KNOWN_ELSEWHERE
        self._default = default
        if not default.startswith("custom-"):  # those are still to come
            self.find(default)

    @property
    def default(self) -> Voice:
        """Who speaks for unknown ids; while a cloned voice that was chosen for it is not there, the fallback."""
        try:
            return self.find(self._default)
        except VoiceNotFound:
            return self.find(FALLBACK_VOICE)

    def __iter__(self) -> Iterator[Voice]:
        yield from self._built_in.values()
        yield from self._custom.values()

    def find(self, voice_id: str) -> Voice:
        """The voice of that id or name; unless strict, also one that stands in for a well-known id.

        A name that several have is the built-in voice's, or else that of the one which was made first.
        """
        known = self._elsewhere.get(voice_id, voice_id)
        voice = self._built_in.get(known) or self._custom.get(known) or self._by_name.get(known.lower())
        if voice is None:
            voice = next((each for each in self._custom.values() if each.name.lower() == known.lower()), None)
        if voice is None:
            raise VoiceNotFound(voice_id)
        return voice

    def put_custom(self, voices: "Iterable[CustomVoice]") -> None:
        """Replaces all cloned voices by these."""
        oldest_first = sorted(voices, key=lambda voice: (voice.created_at, voice.voice_id))
        self._custom = {voice.voice_id: self.cloned(voice) for voice in oldest_first}

    def sketch(self, parameters: "VoiceParameters", language: Language) -> Voice:
        """A cloned voice that can speak, though nobody has kept it yet."""
        return Voice("", "", "", language, "", "", neutral=self._average, parameters=parameters)

    def cloned(self, voice: "CustomVoice") -> Voice:
        """The voice as one that can speak, in the catalogue or not."""
        return replace(
            self.sketch(voice.parameters, voice.language),
            voice_id=voice.voice_id,
            name=voice.name,
            key=voice.voice_id,
            accent=voice.labels.get("accent", ""),
            gender=voice.labels.get("gender", ""),
            custom=voice,
        )

    def resolve(self, voice_id: str) -> Voice:
        """The voice that speaks for an id, known or not."""
        try:
            return self.find(voice_id)
        except VoiceNotFound:
            if self._strict:
                raise
            return self.default


def built_in() -> list[Voice]:
    """The 54 voices that come with the model."""
    archive = np.load(BytesIO(files("svc").joinpath("data/voices.npz").read_bytes()))
    keys = [str(key) for key in archive["names"]]
    lengths, directions = archive["lengths"].astype(np.float32), archive["directions"].astype(np.float32)
    styles = dict(zip(keys, archive["means"][:, None, :] + lengths @ directions, strict=True))
    neutral = {
        letter: np.mean([style for key, style in styles.items() if key[1] == letter], axis=0) for letter in _GENDERS
    }
    names = _names(keys)
    return [_voice(key, names[key], styles[key], neutral[key[1]]) for key in keys]


def _voice(key: str, name: str, style: StyleTable, neutral: StyleTable) -> Voice:
    language, accent = _LANGUAGES[key[0]]
    return Voice(_voice_id(key), name, key, language, accent, _GENDERS[key[1]], neutral, style)


def _voice_id(key: str) -> str:
    """Twenty letters and digits: older clients take anything else for a name."""
    return ("svc" + "".join(word.capitalize() for word in key.split("_"))).ljust(20, "0")


def _names(keys: list[str]) -> dict[str, str]:
    """Each voice's own name; of several with the same one, only the first goes without its accent."""
    names: dict[str, str] = {}
    for key in keys:
        name = key.split("_")[1].capitalize()
        names[key] = f"{name} ({_LANGUAGES[key[0]][1].capitalize()})" if name in names.values() else name
    return names
