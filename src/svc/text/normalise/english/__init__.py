"""English normalisation: all rules, in order of precedence."""

from svc.text.normalise import typography, urls
from svc.text.normalise.english import (
    abbreviations,
    addresses,
    chats,
    code,
    counting,
    dates,
    magnitudes,
    mathematics,
    money,
    names,
    phones_and_versions,
    roman,
    times,
    units,
    years,
)
from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule, need_digits
from svc.text.normalise.urls import SignNames

_VOWELS = frozenset("AEIOUY")


def _spell(letters: str) -> str:
    """Letters in a form that G2P spells: with full stops if there is a vowel, as they might be a word."""
    return ".".join(letters) if _VOWELS.intersection(letters) else letters


SIGNS = SignNames(
    at="at", dot="dot", slash="slash", hyphen="dash", underscore="underscore", hashtag="hashtag",
    equals="equals", question="question mark", ampersand="and", colon="colon", spell=_spell, plus="plus",
)  # fmt: skip


def build_rules(*, british: bool) -> tuple[Rule, ...]:
    speller = Numbers(british)
    return (
        *code.ARROWS,
        *typography.BLOCKS,
        *code.build_number_sign_rules(speller),
        *urls.build_rules(SIGNS, speller.integer),
        *dates.build_rules(speller),
        *need_digits(years.build_rules(speller)),
        *need_digits(phones_and_versions.build_phone_rules(speller)),
        *times.build_rules(speller),
        *need_digits(money.build_rules(speller)),
        *addresses.build_rules(speller),
        *chats.RULES,
        *abbreviations.RULES,
        *code.build_rules(speller),
        *need_digits(units.build_rules(speller)),
        *mathematics.build_rules(speller),
        *need_digits(phones_and_versions.build_version_rules(speller)),
        *need_digits(magnitudes.build_rules(speller)),
        *names.build_rules(speller),
        *roman.build_rules(speller),
        *need_digits(counting.build_rules(speller)),
        Rule(r"(?<![^\W_])<3(?!\d)", "heart"),
        Rule(r"[ ]*&[ ]*", " and "),
        Rule(r"(?<=[^\W\d_])/(?=[^\W_])", " "),
        Rule(r"@", " at "),
        Rule(r"%", " percent"),
        *typography.MARKS,
    )
