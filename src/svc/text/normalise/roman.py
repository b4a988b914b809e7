"""What Roman numerals stand for."""

import re

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CANONICAL = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def value(numeral: str) -> int:
    """The number that a well-formed numeral stands for, else 0."""
    if not _CANONICAL.fullmatch(numeral):
        return 0
    total = 0
    for letter, following in zip(numeral, numeral[1:] + " ", strict=True):
        is_subtracted = VALUES[letter] < VALUES.get(following, 0)
        total += -VALUES[letter] if is_subtracted else VALUES[letter]
    return total
