"""Telephone numbers: read digit by digit, or as the language does, with a pause between groups."""

import re

from svc.text.normalise.grammar import Grammar
from svc.text.normalise.rules import Rule

# Shapes that only telephone numbers have.
_SHAPES = (
    r"\+\d{1,3}[ -]?\(?\d{1,5}\)?(?:[ -]?\d{2,5}){1,5}",  # +34 612 345 678
    r"\(0?\d{1,4}\)[ ]?\d{3,5}[ .-]?\d{3,4}",  # (55) 5555-1234
    r"0\d{1,4}(?:[ .-]\d{2,4}){2,4}",  # 06 12 34 56 78
    r"0\d{1,4}[ -]\d{5,8}",  # 010-12345678
    r"\d{2,4}-\d{3,5}-\d{3,4}",  # 400-800-1234
    r"\d{2}[ ]\d{4,5}-\d{4}",  # 21 2555-1234
    r"(?!\d{1,3}(?:[. ]\d{3})++(?!\d))\d{2,4}(?:[ .-]\d{2,4}){3,6}",  # 91 555 12 34
)
# A number that may be anything, unless the words before it say that it is a telephone's.
_DIGITS = r"\d{2,5}(?:[ -]?\d{2,8}){0,5}"
_FEWEST_DIGITS, _MOST_DIGITS = 6, 15
# From the word to the number: "llame ahora al", "numéro :".
_LONGEST_GAP = 16
_LONGEST_ANNOUNCEMENT = 40
# How a long run of digits is grouped.
_GROUPS = {7: (3, 4), 8: (4, 4), 9: (3, 3, 3), 10: (3, 3, 4), 11: (3, 4, 4)}


def build_rules(grammar: Grammar) -> list[Rule]:
    announced = re.compile(rf"(?:{'|'.join(grammar.telephone_words)})[^\d?!。]{{0,{_LONGEST_GAP}}}\Z", re.IGNORECASE)

    def say(match: re.Match[str]) -> str | None:
        groups = [part for group in re.findall(r"\d+", match[0]) for part in split_group(group)]
        if not _FEWEST_DIGITS <= sum(map(len, groups)) <= _MOST_DIGITS:
            return None
        plus = f"{grammar.plus or grammar.operators['+']}{grammar.space}" if match[0].startswith("+") else ""
        return plus + grammar.pause.join(map(grammar.telephone_group, groups))

    def say_if_announced(match: re.Match[str]) -> str | None:
        before = max(0, match.start() - _LONGEST_ANNOUNCEMENT)
        return say(match) if announced.search(match.string, before, match.start()) else None

    shapes = [Rule(rf"(?<![A-Za-z\d+.,(]){shape}(?![\d]|[,.]\d)", say) for shape in _SHAPES]
    if not grammar.telephone_words:
        return shapes
    return [*shapes, Rule(rf"(?<![A-Za-z\d+.,(]){_DIGITS}(?!\d|[,.]\d)", say_if_announced)]


def split_group(digits: str) -> list[str]:
    """A long run of digits in groups as they are dictated."""
    groups, start = [], 0
    for length in _GROUPS.get(len(digits), (len(digits),)):
        groups.append(digits[start : start + length])
        start += length
    return groups
