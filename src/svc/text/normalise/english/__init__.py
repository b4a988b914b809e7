"""All rules of English, in the order in which they are asked."""

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
from svc.text.normalise.rules import Rule, rule
from svc.text.normalise.urls import Signs

_VOWELS = frozenset("AEIOUY")


def _spell(letters: str) -> str:
    """Letters in a form that pronunciation spells: vowels might make a word of them, points do not."""
    return ".".join(letters) if _VOWELS.intersection(letters) else letters


SIGNS = Signs(
    at="at", dot="dot", slash="slash", hyphen="dash", underscore="underscore", hashtag="hashtag",
    equals="equals", question="question mark", ampersand="and", colon="colon", spell=_spell,
)  # fmt: skip


def rules(*, british: bool) -> tuple[Rule, ...]:
    speller = Numbers(british)
    return (
        *typography.BLOCKS,
        *urls.rules(SIGNS, speller.whole),
        *dates_and_times.date_rules(speller),
        *phones_and_versions.phone_rules(speller),
        *dates_and_times.time_rules(speller),
        *money.rules(speller),
        *abbreviations.RULES,
        *units.rules(speller),
        *mathematics.rules(speller),
        *phones_and_versions.version_rules(speller),
        *abbreviations.letter_rules(speller),
        *numbers.roman_rules(speller),
        *numbers.rules(speller),
        rule(r"(?<![^\W_])<3(?!\d)", "heart"),
        rule(r"[ ]*&[ ]*", " and "),
        rule(r"(?<=[^\W\d_])/(?=[^\W_])", " "),
        rule(r"@", " at "),
        rule(r"%", " percent"),
        *typography.MARKS,
    )
