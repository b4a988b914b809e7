"""Counts what was misheard. Runs in the listening environment.

Both sides are brought to one way of writing first, so that "$5" and "five dollars", "grey" and "gray", or two
scripts of one language count as the same. `plain` is the blunt rule beside it: letters only, figures as numbers.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jiwer
import pyopenjtalk
from num2words import num2words  # type: ignore[import-not-found]
from opencc import OpenCC  # type: ignore[import-not-found]
from whisper_normalizer.english import EnglishTextNormalizer  # type: ignore[import-not-found]

from bench import hindi

# What num2words calls the languages whose figures it can spell.
_FIGURES = {"es": "es", "fr": "fr", "it": "it", "pt": "pt_BR"}
# Written without spaces, or (Hindi) in two scripts that part words differently: characters are compared.
BY_CHARACTER = frozenset({"hi", "ja", "zh"})

_UNSTRESSED = str.maketrans("áéíóú", "aeiou")


def errors(references: list[str], heard: str, language: str) -> tuple[int, int]:
    """The words (or characters) misheard, and how many there are, by the reference that fits best."""
    unify = _UNIFIERS.get(language) or partial(_spelled_out, language)
    count: Callable[..., Any] = jiwer.process_characters if language in BY_CHARACTER else jiwer.process_words
    results = []
    for reference in references:
        result = count(unify(reference), unify(heard) or "-")
        length = result.hits + result.substitutions + result.deletions
        results.append((result.substitutions + result.deletions + result.insertions, length))
    return min(results)


def plain(reference: str, heard: str) -> float:
    """The English word error rate with nothing but case, punctuation and whole numbers evened out."""

    def words(text: str) -> str:
        text = re.sub(r"\d+", lambda figure: f" {num2words(int(figure.group()))} ", text.lower())
        return " ".join(re.sub(r"[^a-z' ]+", " ", text.replace("’", "'")).split()) or "-"

    return float(jiwer.wer(words(reference), words(heard)))


@cache
def _english_normaliser() -> Callable[[str], str]:
    normaliser: Callable[[str], str] = EnglishTextNormalizer()
    return normaliser


def _english(text: str) -> str:
    # "3:15" and "3.15" are said as "three fifteen", which the normaliser writes as "315"; money has its own rule.
    text = re.sub(r"(?<![$£\d])(\d{1,2})[:.](\d\d)(?!\d)", r"\1\2", text)
    text = re.sub(r"(?<![a-z]) ?([ap])\.?m\b\.?", r" \1 m", text)
    return re.sub(r"(?<=\d) (?=\d)", "", _english_normaliser()(text))


def _spelled_out(language: str, text: str) -> str:
    if language in _FIGURES:
        text = re.sub(r"\d+", lambda figure: num2words(int(figure.group()), lang=_FIGURES[language]), text)
    letters = " ".join(_letters(text).split())
    # "qué" and "que" sound the same; in the others an accent is often another sound.
    return letters.translate(_UNSTRESSED) if language == "es" else letters


def _letters(text: str) -> str:
    """Letters, vowel signs and digits, in one case; anything else parts words."""
    return "".join(
        character if unicodedata.category(character)[0] in "LMN" else " "
        for character in unicodedata.normalize("NFKC", text).lower()
    )


def _hindi(text: str) -> str:
    return hindi.consonants(_letters(text))


def _mandarin(text: str) -> str:
    return "".join(_letters(OpenCC("t2s").convert(text)).split())


def _japanese(text: str) -> str:
    """By its sound: the same word may be written in kanji or in kana."""
    kana = str(pyopenjtalk.g2p(text, kana=True))
    return "".join(_letters(kana).split())


_UNIFIERS: dict[str, Callable[[str], str]] = {"en": _english, "hi": _hindi, "ja": _japanese, "zh": _mandarin}


def letters(word: str) -> str:
    """A word in lower case, without marks."""
    return re.sub(r"[^a-z']", "", word.lower())
