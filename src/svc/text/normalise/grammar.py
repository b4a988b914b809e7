"""What each language other than English supplies: its number words, dates, times, money and units."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun that numbers count."""

    one: str
    many: str
    feminine: bool = False


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency and its hundredth part, if it has one that is still in use."""

    unit: Noun
    cent: Noun | None


def unit(name: str) -> Noun:
    """A noun with one form for singular and plural."""
    return Noun(name, name)


# Frequent nouns of Spanish and Portuguese whose ending tells nothing, in the plural.
_MASCULINE = frozenset({
    "días", "dias", "mapas", "planetas", "problemas", "sistemas", "temas", "programas", "idiomas", "poemas", "gramas",
})  # fmt: skip
_FEMININE = frozenset({
    "mujeres", "mulheres", "noches", "noites", "tardes", "veces", "vezes", "calles", "clases", "partes", "flores",
    "manos", "mãos",
})  # fmt: skip

# Magnitudes that no preposition follows.
THOUSANDS = frozenset({"mil", "mille", "mila"})


class Grammar(ABC):
    """The spoken form of numbers and signs in a language; each language overrides what differs."""

    decimal_mark = ","
    group = r"[. ]\d{3}"  # the thousands separator and its digits
    space = " "  # between a number and its noun
    pause = ", "  # between groups of digits

    point: str
    minus: str
    percent: str
    to: str  # between the ends of a range
    conjunction: str  # between an amount and its cents, and for &
    signs: SignNames
    months: tuple[str, ...]
    currencies: ClassVar[Mapping[str, Currency]]
    magnitudes: ClassVar[Mapping[str, Noun]]
    units: ClassVar[Mapping[str, Noun]]
    abbreviations: ClassVar[Mapping[str, str]] = MappingProxyType({})
    ordinal_marks: ClassVar[Mapping[str, bool]] = MappingProxyType({})  # mark → feminine
    fractions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    operators: ClassVar[Mapping[str, str]]
    month_abbreviations: tuple[str, ...] = ()  # in the order of the months, without their full stop
    roman_marks: tuple[str, ...] = ()  # those of `ordinal_marks` that Roman numerals have, too
    counts_rulers = False  # whether a Roman numeral after a name is read by `count_ruler`
    numbered: frozenset[str] = frozenset()  # what is counted with Roman numerals and is no ruler: chapters, volumes
    foreign_latin = False  # whether Latin letters are another language's
    telephone_words: tuple[str, ...] = ()  # patterns of words that announce a telephone number
    plus = ""  # before the code of a country, where that is not the sign of a sum
    score = ""  # between the two numbers of a score or ratio, where that is not `to`
    has_round_numbers = False  # whether millions are nouns
    over = ""  # between the two numbers of a fraction or a mark: 3/8, 9/10
    per = ""  # between an amount and what it pays for: 10 €/kg
    date_words: tuple[str, ...] = ()  # after these, 5/3 is a day of a month
    by = ""  # between the sides of what is measured: 20 x 30 cm

    @abstractmethod
    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        """A number without a noun."""

    def cardinal_before_noun(self, number: int, *, feminine: bool) -> str:
        """A number before the noun that it counts."""
        return self.cardinal(number, feminine=feminine)

    @abstractmethod
    def ordinal(self, number: int, *, feminine: bool) -> str:
        """An ordinal number."""

    def count_ruler(self, number: int, name: str) -> str:
        """The number of a king, queen or pope."""
        return self.cardinal(number)

    def number_part(self, number: int) -> str:
        """The number of a chapter, a volume or a century."""
        return self.cardinal(number)

    def telephone_group(self, digits: str) -> str:
        """A group of the digits of a telephone number."""
        return self.digits(digits)

    def digits(self, written: str) -> str:
        return " ".join(self.cardinal(int(digit)) for digit in written if digit.isdecimal())

    def integer(self, digits: str) -> str:
        """A run of digits; digit by digit if it is very long or has leading zeros."""
        if len(digits) > 15 or (len(digits) > 1 and int(digits[0]) == 0):
            return self.digits(digits)
        return self.cardinal(int(digits))

    def decimals(self, digits: str) -> str:
        """Decimals as a number if there are at most two, else digit by digit."""
        return self.integer(digits) if len(digits) <= 2 else self.digits(digits)

    def number(self, whole: str, decimals: str | None) -> str:
        spoken = self.integer(whole)
        return self.space.join((spoken, self.point, self.decimals(decimals))) if decimals else spoken

    def quantity(self, whole: str, decimals: str | None, noun: Noun) -> str:
        """A number and the noun that it counts."""
        if decimals or len(whole) > 15:
            return f"{self.number(whole, decimals)}{self.space}{noun.many}"
        count = int(whole)
        spoken = self.cardinal_before_noun(count, feminine=noun.feminine)
        if self.is_round(count):
            return f"{spoken} {self.of(noun.many)}"
        return f"{spoken}{self.space}{noun.one if count == 1 else noun.many}"

    def is_round(self, count: int) -> bool:
        """Whether a number is a noun itself, which takes a preposition: "un millón de euros"."""
        return self.has_round_numbers and count > 0 and count % 10**6 == 0

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
        """Millions of a currency are nouns, thousands are numbers."""
        unit = currency.unit.many
        return f"{self.quantity(whole, decimals, magnitude)} {unit if magnitude.many in THOUSANDS else self.of(unit)}"

    def is_feminine(self, noun: str) -> bool:
        """A guess from the ending of a noun, for numbers that agree in gender."""
        if noun in _MASCULINE or noun in _FEMININE:
            return noun in _FEMININE
        return noun.endswith(("a", "as", "ción", "ciones", "ção", "ções", "dad", "dades", "dade"))

    def extra_rules(self) -> list[Rule]:
        """Rules that only this language has."""
        return []

    def of(self, noun: str) -> str:
        """A noun with the preposition that follows a large number: "millones de euros"."""
        return f"de {noun}"

    def percentage(self, number: str) -> str:
        return f"{number} {self.percent}"

    @abstractmethod
    def date(self, day: int, month: int, year: int | None) -> str:
        """A day of a month."""

    @abstractmethod
    def time(self, hour: int, minute: int) -> str:
        """A time of day."""


_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CANONICAL_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def parse_roman(numeral: str) -> int:
    """The number that a well-formed Roman numeral stands for, else 0."""
    if not _CANONICAL_ROMAN.fullmatch(numeral):
        return 0
    total = 0
    for letter, following in zip(numeral, numeral[1:] + " ", strict=True):
        is_subtracted = _ROMAN_VALUES[letter] < _ROMAN_VALUES.get(following, 0)
        total += -_ROMAN_VALUES[letter] if is_subtracted else _ROMAN_VALUES[letter]
    return total


def build_century_rule(pattern: str, say: Callable[[int], str]) -> Rule:
    """Centuries are counted in Roman numerals: the group `numeral` of the pattern."""

    def say_century(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        return say(number) if number else None

    return Rule(pattern, say_century)
