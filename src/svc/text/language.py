"""The languages that the engine speaks, how a caller names them, and which one a text is in."""

import re
from enum import StrEnum

from svc.text.script import Script, script_of
from svc.text.stopwords import STOPWORDS


class Language(StrEnum):
    ENGLISH_US = "en-us"
    ENGLISH_GB = "en-gb"
    SPANISH = "es"
    FRENCH = "fr"
    HINDI = "hi"
    ITALIAN = "it"
    JAPANESE = "ja"
    PORTUGUESE_BR = "pt-br"
    MANDARIN = "zh"

    @property
    def english(self) -> bool:
        return self in (Language.ENGLISH_US, Language.ENGLISH_GB)

    @property
    def latin(self) -> bool:
        """Whether its words are written in Latin letters."""
        return self not in (Language.HINDI, Language.JAPANESE, Language.MANDARIN)

    @property
    def locale(self) -> str:
        """With its region, as a BCP 47 tag: `en-US`, `hi-IN`."""
        language, _, region = self.value.partition("-")
        return f"{language}-{(region or _HOME[language]).upper()}"

    @classmethod
    def parse(cls, code: str, base: "Language | None" = None) -> "Language | None":
        """The language that a code or name means, or None; a bare "en" keeps the English of `base`."""
        name, *regions = re.split(r"[-_]", code.strip().lower())
        language = _NAMES.get(name)
        if language is None or not language.english:
            return language
        if not regions and base is not None and base.english:
            return base
        return cls.ENGLISH_GB if _BRITISH_REGIONS.intersection(regions) else cls.ENGLISH_US


# Whose accent the voices of a language without a region speak in.
_HOME = {"es": "es", "fr": "fr", "hi": "in", "it": "it", "ja": "jp", "zh": "cn"}

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
# Where English is nearer to British than to American.
_BRITISH_REGIONS = {"gb", "uk", "ie", "au", "nz", "za", "in", "sg", "hk", "ng", "ke"}


def recognise(text: str, base: Language) -> Language:
    """The language to read `text` in: `base`, unless the text is clearly in another."""
    counts = dict.fromkeys(Script, 0)
    for character in text:
        counts[script_of(character)] += 1
    # How many words each script makes up, roughly: a Han character is most of a word.
    east_asian = counts[Script.HAN] / 1.5 + counts[Script.KANA] / 3
    latin = len(_LATIN_WORD.findall(text)) if counts[Script.LATIN] else 0
    devanagari = counts[Script.DEVANAGARI] / 4
    most = max(east_asian, latin, devanagari)
    if most == 0:
        return base
    if east_asian == most:
        return _east_asian(text, counts[Script.KANA], base)
    if devanagari == most:
        return Language.HINDI
    return _latin(text, base)


# Everyday characters that only one of the two writes: simplified forms and function words of Chinese;
# simplifications made in Japan and characters invented there.
_ONLY_CHINESE = frozenset("你您她们这吗呢么啊很对说话请谢让给还从为东车马鸟鱼门问间时见觉习汉语书买电脑饭两进远边哪")
_ONLY_JAPANESE = frozenset("々込働畑峠辻枠匂円売駅図気広沢実総権県検験発変帰応戦歳労囲払択渋縄桜悪栄営価仮")


def _east_asian(text: str, kana: int, base: Language) -> Language:
    characters = set(text)
    chinese = len(characters & _ONLY_CHINESE)
    japanese = len(characters & _ONLY_JAPANESE)
    if kana and not chinese:
        return Language.JAPANESE
    if chinese and not japanese:
        return Language.MANDARIN
    if japanese and not chinese:
        return Language.JAPANESE
    return base if base in (Language.JAPANESE, Language.MANDARIN) else Language.MANDARIN


_LATIN_WORD = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]+['’]?")
_LATIN_LANGUAGES = {
    "en": Language.ENGLISH_US,
    "es": Language.SPANISH,
    "fr": Language.FRENCH,
    "it": Language.ITALIAN,
    "pt": Language.PORTUGUESE_BR,
}
# Letters that one of these languages writes and the others do not.
_TELLING_LETTERS = {"es": "ñ", "fr": "œûëîê", "it": "ìò", "pt": "ãõ"}
_INVERTED_MARKS = frozenset("¿¡")
# A shorter text may be a name or a loan ("Déjà vu!", "Los Angeles"): it stays with the voice.
_FEWEST_WORDS = 3
# How much must speak for another language, in words and as a share of all words.
_ENOUGH_WORDS = 1.3
_ENOUGH_SHARE = 0.25


def _latin(text: str, base: Language) -> Language:
    if not base.latin:
        base = Language.ENGLISH_US
    if _INVERTED_MARKS.intersection(text):
        return Language.SPANISH
    words: list[str] = []
    for match in _LATIN_WORD.finditer(text):
        word = match.group().replace("’", "'")
        # A capital inside the sentence is a name, and a name tells nothing ("the San José sharks").
        if not words or not word[0].isupper() or word in ("I", "I'"):
            words.append(word.lower())
    scores = {code: _score(code, words, text) for code in STOPWORDS}
    own = scores.pop(base.value[:2])
    best = max(scores, key=lambda code: scores[code])
    enough = max(_ENOUGH_WORDS, _ENOUGH_SHARE * len(words))
    if len(words) >= _FEWEST_WORDS and scores[best] >= enough and scores[best] > 2 * own:
        return _LATIN_LANGUAGES[best]
    return base


def _score(code: str, words: list[str], text: str) -> float:
    """How many words speak for the language; one that several languages share counts in part."""
    score = 0.0
    for word in words:
        if word in STOPWORDS[code]:
            score += 1 / sum(word in vocabulary for vocabulary in STOPWORDS.values())
    return score + sum(letter in text.lower() for letter in _TELLING_LETTERS.get(code, ""))
