"""English normalisation: all rules, in order of precedence."""

from svc.text.normalise import typography, urls
from svc.text.normalise.english import (
    abbreviations,
    dates_and_times,
    mathematics,
    money,
    numbers,
    phones_and_versions,
    units,
)
from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

_VOWELS = frozenset("AEIOUY")


def _spell(letters: str) -> str:
    """Letters in a form that G2P spells: with full stops if there is a vowel, as they might be a word."""
    return ".".join(letters) if _VOWELS.intersection(letters) else letters


SIGNS = SignNames(
    at="at", dot="dot", slash="slash", hyphen="dash", underscore="underscore", hashtag="hashtag",
    equals="equals", question="question mark", ampersand="and", colon="colon", spell=_spell,
)  # fmt: skip


def build_rules(*, british: bool) -> tuple[Rule, ...]:
    speller = Numbers(british)
    return (
        *typography.BLOCKS,
        *urls.build_rules(SIGNS, speller.integer),
        *dates_and_times.build_date_rules(speller),
        *phones_and_versions.build_phone_rules(speller),
        *dates_and_times.build_time_rules(speller),
        *money.build_rules(speller),
        *abbreviations.RULES,
        *units.build_rules(speller),
        *mathematics.build_rules(speller),
        *phones_and_versions.build_version_rules(speller),
        *abbreviations.build_letter_rules(speller),
        *numbers.build_roman_rules(speller),
        *numbers.build_rules(speller),
        Rule(r"(?<![^\W_])<3(?!\d)", "heart"),
        Rule(r"[ ]*&[ ]*", " and "),
        Rule(r"(?<=[^\W\d_])/(?=[^\W_])", " "),
        Rule(r"@", " at "),
        Rule(r"%", " percent"),
        *typography.MARKS,
    )
