"""The 54 voices that come with Kokoro: their style tables, languages, genders and ids, and the preview texts."""

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import StyleTable
from svc.text.language.languages import Language
from svc.text.language.table import load_table

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

STYLE = 128
"""Of a style, how many values are timbre, and how many prosody."""

_TYPICAL_LENGTHS = slice(60, 120)  # phonemes in a sentence of ordinary length: the rows of the style table

PREVIEW_TEXTS = {
    Language.ENGLISH_US: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.ENGLISH_GB: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.SPANISH: "¡Hola! Así es como sueno. Dame un texto y te lo leeré.",
    Language.FRENCH: "Bonjour ! Voici ma voix. Donnez-moi un texte, et je vous le lirai.",
    Language.HINDI: "नमस्ते! मेरी आवाज़ ऐसी है। मुझे कोई पाठ दीजिए, मैं उसे पढ़ दूँगी।",
    Language.ITALIAN: "Ciao! Ecco la mia voce. Dammi un testo e te lo leggerò.",
    Language.JAPANESE: "こんにちは。これが私の声です。文章をいただければ、お読みします。",
    Language.PORTUGUESE_BR: "Olá! Esta é a minha voz. Me dê um texto e eu o lerei para você.",
    Language.MANDARIN: "你好！这就是我的声音。给我一段文字，我来读给你听。",
    **{Language(code): row.preview for code, row in load_table().items()},
}
"""What a voice says in its preview. A clone's similarity to its reference is measured on this text, too."""


@dataclass(frozen=True, eq=False, slots=True)
class KokoroVoice:
    """One of the built-in voices."""

    key: str
    """Kokoro's name for it, such as `af_heart`."""
    name: str
    neutral: StyleTable
    """The mean style of the built-in voices of the same gender."""

    @property
    def style(self) -> StyleTable:
        return _load_style(self.key)

    @property
    def voice_id(self) -> str:
        """Twenty letters and digits: older clients take anything else for a name."""
        return ("svc" + "".join(word.capitalize() for word in self.key.split("_"))).ljust(20, "0")

    @property
    def language(self) -> Language:
        return _LANGUAGES[self.key[0]][0]

    @property
    def accent(self) -> str:
        return _LANGUAGES[self.key[0]][1]

    @property
    def gender(self) -> str:
        return _GENDERS[self.key[1]]

    @property
    def typical_style(self) -> StyleTable:
        return find_typical_style(self.style)


def find_typical_style(table: StyleTable) -> StyleTable:
    """The mean style in sentences of ordinary length, as one row. [256]"""
    row: StyleTable = table[_TYPICAL_LENGTHS].mean(axis=0)
    return row


@cache
def load_built_in_voices() -> tuple[KokoroVoice, ...]:
    """All 54."""
    keys = list(_load_products())
    neutral = {letter: np.mean([_load_style(key) for key in keys if key[1] == letter], axis=0) for letter in _GENDERS}
    names = _name_voices(keys)
    return tuple(KokoroVoice(key, names[key], neutral[key[1]]) for key in keys)


@lru_cache(maxsize=4)
def _load_style(key: str) -> StyleTable:
    """All tables together take 28 MB, and one is computed in a millisecond: the last ones are kept."""
    mean, lengths, directions = _load_products()[key]
    style: StyleTable = mean + lengths.astype(np.float32) @ directions.astype(np.float32)
    style.setflags(write=False)
    return style


@cache
def _load_products() -> dict[str, tuple[npt.NDArray[Any], ...]]:
    """Tables change slowly with the length of the sentence, so they are stored as products of low rank: by key, the
    mean row, and the two factors of what differs from it."""
    archive = np.load(BytesIO(files("svc").joinpath("data/voices.npz").read_bytes()))
    keys = [str(key) for key in archive["names"]]
    return dict(zip(keys, zip(archive["means"], archive["lengths"], archive["directions"], strict=True), strict=True))


def _name_voices(keys: list[str]) -> dict[str, str]:
    """The names by key. Of several voices with the same name, all but the first have their accent added."""
    names: dict[str, str] = {}
    for key in keys:
        name = key.split("_")[1].capitalize()
        names[key] = f"{name} ({_LANGUAGES[key[0]][1].capitalize()})" if name in names.values() else name
    return names
