"""Converts IPA as espeak-ng and callers write it, and ARPAbet, into the vocabulary that Kokoro was trained on."""

import re
from collections.abc import Callable, Mapping
from unicodedata import normalize

from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language

# Sounds that espeak-ng ties with "^" are one symbol of the vocabulary.
_TIED = {
    "a^ɪ": "I",
    "a^ʊ": "W",
    "d^z": "ʣ",
    "d^ʒ": "ʤ",
    "e^ɪ": "A",
    "o^ʊ": "O",
    "ə^ʊ": "Q",
    "s^s": "S",
    "t^s": "ʦ",
    "t^ʃ": "ʧ",
    "ɔ^ɪ": "Y",
}

# The nearest symbol for letters of the IPA that the vocabulary lacks.
_NEAREST = {
    "g": "ɡ", "ɫ": "l", "ɭ": "l", "ɬ": "l", "ɮ": "l", "ʟ": "l", "ʍ": "w", "ʀ": "ʁ", "ʙ": "b", "ɓ": "b",
    "ɗ": "d", "ɠ": "ɡ", "ɢ": "ɡ", "ʛ": "ɡ", "ɱ": "m", "ⱱ": "v", "ʐ": "ʒ", "ʑ": "ʒ", "ħ": "h", "ʕ": "ʔ",
    "ɦ": "h", "ɧ": "ʃ", "ʜ": "h", "ʢ": "ʔ", "ʡ": "ʔ", "ɺ": "ɾ", "ɘ": "ə", "ɵ": "ə", "ɞ": "ɜ", "ɶ": "œ",
    "ʏ": "y", "ʉ": "u", "ɝ": "ɜɹ", "ʅ": "ɨ", "ɿ": "ɨ", "ᴇ": "e", "ȵ": "ɲ", "ɩ": "ɪ", "ʱ": "ʰ", "ʷ": "w",
    "ˠ": "", "ˤ": "", "ⁿ": "n", "ˡ": "l", "'": "ˈ", "ˑ": "ː", ":": "ː",
}  # fmt: skip

# Diphthongs and affricates of English, as they are usually written.
_ENGLISH = {
    "eɪ": "A", "aɪ": "I", "aʊ": "W", "ɔɪ": "Y", "oʊ": "O", "əʊ": "Q", "ej": "A", "aj": "I", "aw": "W",
    "ɔj": "Y", "ow": "O", "ɚ": "əɹ", "ɝː": "ɜɹ", "ɝ": "ɜɹ", "r": "ɹ", "e": "ɛ", "o": "ɔ",
}  # fmt: skip
_AMERICAN = {**_ENGLISH, "əʊ": "O", "ɜːɹ": "ɜɹ", "ɜːr": "ɜɹ", "ɜː": "ɜɹ", "ɒ": "ɑ", "ɾ": "T", "ː": ""}
_BRITISH = {**_ENGLISH, "oʊ": "Q", "ow": "Q", "eə": "ɛː", "æ": "a", "ɾ": "t", "ɝː": "ɜː", "ɝ": "ɜː", "ɚ": "ə"}
_TONES = {"˥˩": "↘", "˧˥": "↗", "˨˩˦": "↓", "˧˩˧": "↓", "˨˩˨": "↓", "˨˩": "↓", "˥˥": "→", "˥": "→"}
_ALL_LANGUAGES = {"tʃ": "ʧ", "dʒ": "ʤ"}
# In English these are two symbols: "cats".
_NOT_ENGLISH = {"ts": "ʦ", "dz": "ʣ", "tɕ": "ʨ", "dʑ": "ʥ", "ʈʂ": "ꭧ"}

_SPELLINGS = {
    Language.ENGLISH_US: _AMERICAN,
    Language.ENGLISH_GB: _BRITISH,
    Language.MANDARIN: _NOT_ENGLISH | _TONES,
}

_TIE_BARS = re.compile("[\u0361\u035c\u0311\u032f\u200d]")
_SYLLABIC = re.compile("(.)\u0329")
# IPA has stress marks before the syllable; Kokoro was trained with them before the vowel.
_VOWELS = "AIOQWYaeiouyæɑɐɒɔəɚɛɜɝɞɤɨɪɯøœɵɘʉʊʌʏɶᵊᵻ"
_STRESS = re.compile(f"([ˈˌ])([^{_VOWELS}ˈˌ ]+)(?=[{_VOWELS}])")
_SILENT = re.compile(r"[/\[\].‿|‖]")


# espeak-ng writes the tone of a syllable after its vowel, the voices know it at the end.
_TONE_INSIDE = re.compile("([↓→↗↘])([^↓→↗↘ ]+)")


def create_espeak_reader(symbols: Mapping[str, str]) -> Callable[[str], str]:
    """Reads one word in espeak-ng's IPA, with "^" as tie; `symbols` are replacements of the language."""
    replace = _compile({**_TIED, **symbols})
    return lambda ipa: _TONE_INSIDE.sub(r"\2\1", restrict_to_vocabulary(replace(ipa).replace("^", "")))


def from_ipa(ipa: str, language: Language) -> str:
    """The phonemes of IPA as it is written in a `<phoneme>` tag."""
    plain = " ".join(_SILENT.sub("", _TIE_BARS.sub("", normalize("NFC", ipa))).split())
    plain = _SYLLABIC.sub(r"ᵊ\1", plain)
    table = _ALL_LANGUAGES | _SPELLINGS.get(language, _NOT_ENGLISH)
    return _STRESS.sub(r"\2\1", restrict_to_vocabulary(_compile(table)(plain)))


def restrict_to_vocabulary(phonemes: str) -> str:
    """The phonemes, with symbols outside the vocabulary replaced by the nearest in it, or left out."""
    if VOCABULARY.keys() >= set(phonemes):
        return phonemes
    return "".join(symbol if symbol in VOCABULARY else _find_nearest(symbol) for symbol in phonemes)


def _find_nearest(symbol: str) -> str:
    parts = (_NEAREST.get(part, part) for part in normalize("NFD", symbol))
    return "".join(part for part in "".join(parts) if part in VOCABULARY)


def _compile(table: Mapping[str, str]) -> Callable[[str], str]:
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(lambda found: table[found.group()], text)


# The ARPAbet of the CMU pronouncing dictionary.
_ARPABET_CONSONANTS = {
    "B": "b", "CH": "tʃ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "dʒ",
    "K": "k", "L": "l", "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s",
    "SH": "ʃ", "T": "t", "TH": "θ", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip

_ARPABET_VOWELS = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "aʊ", "AY": "aɪ", "EH": "ɛ", "ER": "ɝ",
    "EY": "eɪ", "IH": "ɪ", "IY": "i", "OW": "oʊ", "OY": "ɔɪ", "UH": "ʊ", "UW": "u",
}  # fmt: skip

# Two vowels have another quality without stress.
_ARPABET_UNSTRESSED = _ARPABET_VOWELS | {"AH": "ə", "ER": "ɚ"}

_ARPABET_STRESS = {"0": "", "1": "ˈ", "2": "ˌ"}


def arpabet_to_ipa(arpabet: str) -> str:
    """IPA for ARPAbet symbols such as `T AH0 M EY1 T OW0`; unknown symbols are left out."""
    return "".join(_arpabet_symbol_to_ipa(symbol) for symbol in arpabet.upper().split())


def _arpabet_symbol_to_ipa(symbol: str) -> str:
    if symbol in _ARPABET_CONSONANTS:
        return _ARPABET_CONSONANTS[symbol]
    vowel, stress = symbol.rstrip("012"), symbol[-1]
    if vowel not in _ARPABET_VOWELS:
        return ""
    # The stress mark comes right before the vowel, as in the phonemes that Kokoro was trained on.
    sound = (_ARPABET_UNSTRESSED if stress == "0" else _ARPABET_VOWELS)[vowel]
    return _ARPABET_STRESS.get(stress, "") + sound


def find_unknown_arpabet(arpabet: str) -> str | None:
    """The first symbol that is none of the ARPAbet's."""
    return next((symbol for symbol in arpabet.upper().split() if not _arpabet_symbol_to_ipa(symbol)), None)
