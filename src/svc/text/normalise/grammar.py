"""What a language other than English needs to say numbers, dates, times, money and units."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import Signs


@dataclass(frozen=True, slots=True)
class Noun:
    """Something that is counted."""

    one: str
    many: str
    feminine: bool = False


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency and its hundredth part, if it has one that people still say."""

    unit: Noun
    cent: Noun | None


class Grammar(ABC):
    """How a language says what is written in digits and signs; each language overrides what differs."""

    decimal_mark = ","
    group = r"[. ]\d{3}"  # how the digits after the first three are set off
    space = " "  # between a number and its noun

    pause = ", "  # between groups of digits

    point: str
    minus: str
    percent: str
    to: str  # between the ends of a range
    conjunction: str  # between an amount and its cents, and for &
    signs: Signs
    months: tuple[str, ...]
    currencies: ClassVar[Mapping[str, Currency]]
    magnitudes: ClassVar[Mapping[str, Noun]]
    units: ClassVar[Mapping[str, Noun]]
    abbreviations: ClassVar[Mapping[str, str]] = MappingProxyType({})
    ordinal_marks: ClassVar[Mapping[str, bool]] = MappingProxyType({})  # mark → feminine
    fractions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    operators: ClassVar[Mapping[str, str]]

    @abstractmethod
    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        """A number that counts nothing in particular."""

    def counting(self, number: int, *, feminine: bool) -> str:
        """A number before the noun that it counts."""
        return self.cardinal(number, feminine=feminine)

    @abstractmethod
    def ordinal(self, number: int, *, feminine: bool) -> str:
        """A number's place in a row."""

    def digits(self, written: str) -> str:
        return " ".join(self.cardinal(int(digit)) for digit in written if digit.isdecimal())

    def whole(self, digits: str) -> str:
        """A run of digits; very long ones and those with leading zeros one by one."""
        if len(digits) > 15 or (len(digits) > 1 and int(digits[0]) == 0):
            return self.digits(digits)
        return self.cardinal(int(digits))

    def decimals(self, digits: str) -> str:
        """Decimals are said as a number where that is short, else digit by digit."""
        return self.whole(digits) if len(digits) <= 2 else self.digits(digits)

    def number(self, whole: str, decimals: str | None) -> str:
        spoken = self.whole(whole)
        return self.space.join((spoken, self.point, self.decimals(decimals))) if decimals else spoken

    def quantity(self, whole: str, decimals: str | None, noun: Noun) -> str:
        """A number and the noun that it counts."""
        if decimals or len(whole) > 15:
            return f"{self.number(whole, decimals)}{self.space}{noun.many}"
        count = int(whole)
        spoken = self.counting(count, feminine=noun.feminine)
        return f"{spoken}{self.space}{noun.one if count == 1 else noun.many}"

    def money(self, whole: str, decimals: str | None, currency: Currency) -> str:
        if not decimals or currency.cent is None or len(decimals) != 2:
            return self.quantity(whole, decimals, currency.unit)
        cents = self.quantity(str(int(decimals)), None, currency.cent)
        if int(decimals) == 0:
            return self.quantity(whole, None, currency.unit)
        if int(whole) == 0:
            return cents
        return f"{self.quantity(whole, None, currency.unit)} {self.conjunction} {cents}"

    def large_money(self, whole: str, decimals: str | None, magnitude: Noun, currency: Currency) -> str:
        """Millions and more of a currency."""
        return f"{self.quantity(whole, decimals, magnitude)} {self.of(currency.unit.many)}"

    def is_feminine(self, noun: str) -> bool:
        """A guess from how a noun ends, for numbers that agree with what they count."""
        return noun.endswith(("a", "as", "ción", "ciones", "ção", "ções", "dad", "dades", "dade"))

    def extra_rules(self) -> list[Rule]:
        """Rules that only this language has."""
        return []

    def of(self, noun: str) -> str:
        return f"de {noun}"

    def percentage(self, number: str) -> str:
        return f"{number} {self.percent}"

    @abstractmethod
    def date(self, day: int, month: int, year: int | None) -> str:
        """A day of a month."""

    @abstractmethod
    def clock(self, hour: int, minute: int) -> str:
        """A time of day."""


ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CANONICAL_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def roman_value(numeral: str) -> int:
    """The number that a well-formed numeral stands for, else 0."""
    if not _CANONICAL_ROMAN.fullmatch(numeral):
        return 0
    total = 0
    for letter, following in zip(numeral, numeral[1:] + " ", strict=True):
        is_subtracted = ROMAN_VALUES[letter] < ROMAN_VALUES.get(following, 0)
        total += -ROMAN_VALUES[letter] if is_subtracted else ROMAN_VALUES[letter]
    return total
