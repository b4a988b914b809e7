"""All rules of English, in the order in which they are asked."""

from svc.text.normalise import addresses, typography
from svc.text.normalise.addresses import Signs
from svc.text.normalise.english import (
    abbreviations,
    calendar,
    clock,
    counts,
    letters,
    mathematics,
    money,
    phones,
    roman,
    units,
    versions,
)
from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule, rule

_VOWELS = frozenset("AEIOUY")


def _spell(letters: str) -> str:
    """Letters in a form that pronunciation spells: vowels might make a word of them, points do not."""
    return ".".join(letters) if _VOWELS.intersection(letters) else letters


SIGNS = Signs(
    at="at", dot="dot", slash="slash", hyphen="dash", underscore="underscore", hashtag="hashtag",
    equals="equals", question="question mark", ampersand="and", colon="colon", spell=_spell,
)  # fmt: skip


def rules(*, british: bool) -> tuple[Rule, ...]:
    numbers = Numbers(british)
    return (
        *typography.BLOCKS,
        *addresses.rules(SIGNS, numbers.whole),
        *calendar.rules(numbers),
        *phones.rules(numbers),
        *clock.rules(numbers),
        *money.rules(numbers),
        *abbreviations.RULES,
        *units.rules(numbers),
        *mathematics.rules(numbers),
        *versions.rules(numbers),
        *letters.rules(numbers),
        *roman.rules(numbers),
        *counts.rules(numbers),
        rule(r"(?<![^\W_])<3(?!\d)", "heart"),
        rule(r"[ ]*&[ ]*", " and "),
        rule(r"(?<=[^\W\d_])/(?=[^\W_])", " "),
        rule(r"@", " at "),
        rule(r"%", " percent"),
        *typography.MARKS,
    )
