"""The languages that the engine speaks, how callers name them, and the scripts that texts are written in."""

import re
from bisect import bisect_right
from enum import IntEnum, StrEnum, auto
from functools import cache

from svc.text.language.table import LanguageRow, load_table


class Language(StrEnum):
    # Those of the built-in voices.
    ENGLISH_US = "en-us"
    ENGLISH_GB = "en-gb"
    SPANISH = "es"
    SPANISH_LATIN_AMERICA = "es-419"
    FRENCH = "fr"
    FRENCH_BE = "fr-be"
    FRENCH_CH = "fr-ch"
    HINDI = "hi"
    ITALIAN = "it"
    JAPANESE = "ja"
    PORTUGUESE_BR = "pt-br"
    PORTUGUESE_PT = "pt-pt"
    MANDARIN = "zh"
    # Those of data/languages.toml.
    ARABIC = "ar"
    BULGARIAN = "bg"
    CROATIAN = "hr"
    CZECH = "cs"
    DANISH = "da"
    DUTCH = "nl"
    FILIPINO = "fil"
    FINNISH = "fi"
    GERMAN = "de"
    GREEK = "el"
    HUNGARIAN = "hu"
    INDONESIAN = "id"
    KOREAN = "ko"
    MALAY = "ms"
    NORWEGIAN = "no"
    POLISH = "pl"
    ROMANIAN = "ro"
    RUSSIAN = "ru"
    SLOVAK = "sk"
    SWEDISH = "sv"
    TAMIL = "ta"
    TURKISH = "tr"
    UKRAINIAN = "uk"
    VIETNAMESE = "vi"

    @property
    def row(self) -> LanguageRow | None:
        """Its row of the table; None for the languages of the built-in voices."""
        return load_table().get(self.value)

    @property
    def articulation(self) -> "Language":
        """The language whose own voices show how it is articulated: itself, if there are any."""
        return Language(self.row.articulation) if self.row else self

    @property
    def code(self) -> str:
        """The bare code, without a region: English is one language with two accents."""
        return self.value.split("-")[0]

    @property
    def english(self) -> bool:
        return self in (Language.ENGLISH_US, Language.ENGLISH_GB)

    @property
    def base(self) -> "Language":
        """The language that voices have; a region of it has only its own words and phonemes."""
        return _BASES.get(self, self)

    @property
    def script(self) -> "Script":
        """What its words are written in; for Japanese, besides Han."""
        return _SCRIPTS.get(self, Script.LATIN)

    @property
    def latin(self) -> bool:
        """Whether its words are written in Latin letters."""
        return self.script is Script.LATIN

    @property
    def locale(self) -> str:
        """A BCP 47 tag with the region: `en-US`, `hi-IN`."""
        if self.row:
            return self.row.locale
        language, _, region = self.value.partition("-")
        return f"{language}-{(region or _DEFAULT_REGIONS[language]).upper()}"

    @classmethod
    def parse(cls, code: str, base: "Language | None" = None) -> "Language | None":
        """The language that a code or name stands for, or None; "en" without a region is the English of `base`."""
        name, *regions = re.split(r"[-_]", code.strip().lower())
        language = _NAMES.get(name) or _load_names().get(name)
        if language is None:
            return None
        if not language.english:
            return next((_REGIONS[language, region] for region in regions if (language, region) in _REGIONS), language)
        if not regions and base is not None and base.english:
            return base
        return cls.ENGLISH_GB if _BRITISH_REGIONS.intersection(regions) else cls.ENGLISH_US


# The accent of the voices of a language whose code has no region.
_DEFAULT_REGIONS = {"es": "es", "fr": "fr", "hi": "in", "it": "it", "ja": "jp", "zh": "cn"}

_NAMES = {
    **dict.fromkeys(("en", "eng", "english"), Language.ENGLISH_US),
    **dict.fromkeys(("es", "spa", "spanish", "español", "castellano"), Language.SPANISH),
    **dict.fromkeys(("fr", "fra", "fre", "french", "français"), Language.FRENCH),
    **dict.fromkeys(("hi", "hin", "hindi"), Language.HINDI),
    **dict.fromkeys(("it", "ita", "italian", "italiano"), Language.ITALIAN),
    **dict.fromkeys(("ja", "jp", "jpn", "japanese"), Language.JAPANESE),
    **dict.fromkeys(("pt", "por", "portuguese", "português"), Language.PORTUGUESE_BR),
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "cn", "chinese", "mandarin"), Language.MANDARIN),
}
_LATIN_AMERICA = "419 ar bo cl co cr cu do ec gt hn mx ni pa pe pr py sv us uy ve"
_REGIONS: dict[tuple[Language, str], Language] = {
    **{(Language.SPANISH, region): Language.SPANISH_LATIN_AMERICA for region in _LATIN_AMERICA.split()},
    **{(Language.PORTUGUESE_BR, region): Language.PORTUGUESE_PT for region in ("pt", "ao", "mz", "cv", "tl")},
    (Language.FRENCH, "be"): Language.FRENCH_BE,
    (Language.FRENCH, "ch"): Language.FRENCH_CH,
}
_BASES = {region: language for (language, _), region in _REGIONS.items()}


@cache
def _load_names() -> dict[str, Language]:
    """The names of the languages of the table."""
    return {name: Language(code) for code, row in load_table().items() for name in (code, *row.names)}


# Regions whose English is closer to British than to American.
_BRITISH_REGIONS = {"gb", "uk", "ie", "au", "nz", "za", "in", "sg", "hk", "ng", "ke"}


class Script(IntEnum):
    """A writing system. `COMMON` is what all of them use: spaces, digits, punctuation, symbols.

    A number, because it is counted and looked up for every sentence: the hash of another enum is a function in Python.
    """

    COMMON = auto()
    LATIN = auto()
    GREEK = auto()
    CYRILLIC = auto()
    ARMENIAN = auto()
    HEBREW = auto()
    ARABIC = auto()
    DEVANAGARI = auto()
    BENGALI = auto()
    GURMUKHI = auto()
    GUJARATI = auto()
    ORIYA = auto()
    TAMIL = auto()
    TELUGU = auto()
    KANNADA = auto()
    MALAYALAM = auto()
    SINHALA = auto()
    THAI = auto()
    MYANMAR = auto()
    GEORGIAN = auto()
    ETHIOPIC = auto()
    HANGUL = auto()
    KANA = auto()
    HAN = auto()


_SCRIPTS = {
    Language.ARABIC: Script.ARABIC,
    Language.BULGARIAN: Script.CYRILLIC,
    Language.GREEK: Script.GREEK,
    Language.HINDI: Script.DEVANAGARI,
    Language.JAPANESE: Script.KANA,
    Language.KOREAN: Script.HANGUL,
    Language.MANDARIN: Script.HAN,
    Language.RUSSIAN: Script.CYRILLIC,
    Language.TAMIL: Script.TAMIL,
    Language.UKRAINIAN: Script.CYRILLIC,
}

# First and last code point, sorted.
_BLOCKS: tuple[tuple[int, int, Script], ...] = (
    (0x0041, 0x005A, Script.LATIN),
    (0x0061, 0x007A, Script.LATIN),
    (0x00AA, 0x00AA, Script.LATIN),
    (0x00BA, 0x00BA, Script.LATIN),
    (0x00C0, 0x00D6, Script.LATIN),
    (0x00D8, 0x00F6, Script.LATIN),
    (0x00F8, 0x02AF, Script.LATIN),
    (0x0370, 0x03FF, Script.GREEK),
    (0x0400, 0x052F, Script.CYRILLIC),
    (0x0531, 0x058F, Script.ARMENIAN),
    (0x0591, 0x05FF, Script.HEBREW),
    (0x0610, 0x061A, Script.ARABIC),
    (0x0620, 0x065F, Script.ARABIC),
    (0x066E, 0x06D3, Script.ARABIC),
    (0x06D5, 0x06EF, Script.ARABIC),
    (0x06FA, 0x06FF, Script.ARABIC),
    (0x0750, 0x077F, Script.ARABIC),
    (0x08A0, 0x08FF, Script.ARABIC),
    (0x0900, 0x0963, Script.DEVANAGARI),
    (0x0966, 0x097F, Script.DEVANAGARI),
    (0x0980, 0x09FF, Script.BENGALI),
    (0x0A00, 0x0A7F, Script.GURMUKHI),
    (0x0A80, 0x0AFF, Script.GUJARATI),
    (0x0B00, 0x0B7F, Script.ORIYA),
    (0x0B80, 0x0BFF, Script.TAMIL),
    (0x0C00, 0x0C7F, Script.TELUGU),
    (0x0C80, 0x0CFF, Script.KANNADA),
    (0x0D00, 0x0D7F, Script.MALAYALAM),
    (0x0D80, 0x0DFF, Script.SINHALA),
    (0x0E01, 0x0E3A, Script.THAI),
    (0x0E40, 0x0E5B, Script.THAI),
    (0x1000, 0x109F, Script.MYANMAR),
    (0x10A0, 0x10FF, Script.GEORGIAN),
    (0x1100, 0x11FF, Script.HANGUL),
    (0x1200, 0x139F, Script.ETHIOPIC),
    (0x1E00, 0x1EFF, Script.LATIN),
    (0x1F00, 0x1FFF, Script.GREEK),
    (0x3005, 0x3007, Script.HAN),
    (0x3041, 0x3096, Script.KANA),
    (0x3099, 0x309F, Script.KANA),
    (0x30A1, 0x30FA, Script.KANA),
    (0x30FC, 0x30FF, Script.KANA),
    (0x3131, 0x318E, Script.HANGUL),
    (0x31F0, 0x31FF, Script.KANA),
    (0x3400, 0x4DBF, Script.HAN),
    (0x4E00, 0x9FFF, Script.HAN),
    (0xAC00, 0xD7A3, Script.HANGUL),
    (0xF900, 0xFAFF, Script.HAN),
    (0xFB00, 0xFB06, Script.LATIN),
    (0xFB1D, 0xFB4F, Script.HEBREW),
    (0xFB50, 0xFDFB, Script.ARABIC),
    (0xFE70, 0xFEFC, Script.ARABIC),
    (0xFF21, 0xFF3A, Script.LATIN),
    (0xFF41, 0xFF5A, Script.LATIN),
    (0xFF66, 0xFF9F, Script.KANA),
    (0x20000, 0x323AF, Script.HAN),
)
_STARTS = [first for first, _, _ in _BLOCKS]


def find_script(character: str) -> Script:
    """The script that a character belongs to."""
    point = ord(character)
    block = bisect_right(_STARTS, point) - 1
    if block >= 0 and point <= _BLOCKS[block][1]:
        return _BLOCKS[block][2]
    return Script.COMMON
