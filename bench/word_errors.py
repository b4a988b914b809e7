"""Word error rates. Runs in the evaluation environment.

Text and transcript are normalised first, so that "$5" and "five dollars", "grey" and "gray", or two scripts of one
language count as the same. `plain_rate` is a simpler rule: letters only, digits as number words.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jiwer
from haqumei import Haqumei
from num2words import num2words  # type: ignore[import-not-found]
from opencc import OpenCC  # type: ignore[import-not-found]
from whisper_normalizer.english import EnglishTextNormalizer  # type: ignore[import-not-found]

from bench import hindi

# num2words' names of the languages whose numbers it can spell.
_FIGURES = {"es": "es", "fr": "fr", "it": "it", "pt": "pt_BR"}
# Written without spaces, or (Hindi) in scripts that split words differently: characters are compared.
BY_CHARACTER = frozenset({"hi", "ja", "zh"})

_UNSTRESSED = str.maketrans("áéíóú", "aeiou")


def count_errors(references: list[str], transcript: str, language: str) -> tuple[int, int]:
    """The wrong words (or characters) and their number, by the reference that fits best."""
    normalize = _NORMALIZERS.get(language) or partial(_spell_numbers, language)
    count: Callable[..., Any] = jiwer.process_characters if language in BY_CHARACTER else jiwer.process_words
    results = []
    for reference in references:
        result = count(normalize(reference), normalize(transcript) or "-")
        length = result.hits + result.substitutions + result.deletions
        results.append((result.substitutions + result.deletions + result.insertions, length))
    return min(results)


def plain_rate(reference: str, transcript: str) -> float:
    """The English word error rate with only case, punctuation and whole numbers normalised."""

    def words(text: str) -> str:
        text = re.sub(r"\d+", lambda figure: f" {num2words(int(figure.group()))} ", text.lower())
        return " ".join(re.sub(r"[^a-z' ]+", " ", text.replace("’", "'")).split()) or "-"

    return float(jiwer.wer(words(reference), words(transcript)))


@cache
def _create_english_normalizer() -> Callable[[str], str]:
    normalizer: Callable[[str], str] = EnglishTextNormalizer()
    return normalizer


def _normalize_english(text: str) -> str:
    # "3:15" and "3.15" are said as "three fifteen", which the normaliser writes as "315"; money has its own rule.
    text = re.sub(r"(?<![$£\d])(\d{1,2})[:.](\d\d)(?!\d)", r"\1\2", text)
    text = re.sub(r"(?<![a-z]) ?([ap])\.?m\b\.?", r" \1 m", text)
    return re.sub(r"(?<=\d) (?=\d)", "", _create_english_normalizer()(text))


def _spell_numbers(language: str, text: str) -> str:
    if language in _FIGURES:
        text = re.sub(r"\d+", lambda figure: num2words(int(figure.group()), lang=_FIGURES[language]), text)
    letters = " ".join(_keep_letters(text).split())
    # "qué" and "que" sound the same; in the others an accent is often another sound.
    return letters.translate(_UNSTRESSED) if language == "es" else letters


def _keep_letters(text: str) -> str:
    """Lower-case letters, vowel signs and digits; anything else becomes a space."""
    return "".join(
        character if unicodedata.category(character)[0] in "LMN" else " "
        for character in unicodedata.normalize("NFKC", text).lower()
    )


def _normalize_hindi(text: str) -> str:
    return hindi.extract_consonants(_keep_letters(text))


def _normalize_mandarin(text: str) -> str:
    return "".join(_keep_letters(OpenCC("t2s").convert(text)).split())


def _normalize_japanese(text: str) -> str:
    """As kana: the same word may be written in kanji or in kana."""
    return "".join(_keep_letters(_create_kana_reader().g2k(text)).split())


@cache
def _create_kana_reader() -> Haqumei:
    return Haqumei()


_NORMALIZERS: dict[str, Callable[[str], str]] = {
    "en": _normalize_english,
    "hi": _normalize_hindi,
    "ja": _normalize_japanese,
    "zh": _normalize_mandarin,
}


def keep_ascii(word: str) -> str:
    """A word in lower case, without punctuation."""
    return re.sub(r"[^a-z']", "", word.lower())
