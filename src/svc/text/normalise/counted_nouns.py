"""Units and currencies of the languages of the table, with the forms that numbers ask for, by Babel's data."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from babel import Locale
from babel.numbers import get_currency_name
from babel.units import format_unit

from svc.text.language_table import Reading
from svc.text.normalise.grammar import Currency, Noun

# The symbol of a unit that is the same everywhere. CLDR knows those of each language, such as км, too.
_UNITS = {
    "km/h": "speed-kilometer-per-hour", "m/s": "speed-meter-per-second", "km": "length-kilometer",
    "m": "length-meter", "cm": "length-centimeter", "mm": "length-millimeter", "m²": "area-square-meter",
    "km²": "area-square-kilometer", "ha": "area-hectare", "m³": "volume-cubic-meter", "kg": "mass-kilogram",
    "g": "mass-gram", "mg": "mass-milligram", "t": "mass-tonne", "l": "volume-liter", "L": "volume-liter",
    "ml": "volume-milliliter", "°C": "temperature-celsius", "°F": "temperature-fahrenheit", "°": "angle-degree",
    "min": "duration-minute", "s": "duration-second", "kW": "power-kilowatt", "kWh": "energy-kilowatt-hour",
    "W": "power-watt", "V": "electric-volt", "Hz": "frequency-hertz", "MHz": "frequency-megahertz",
    "GHz": "frequency-gigahertz", "kB": "digital-kilobyte", "KB": "digital-kilobyte", "MB": "digital-megabyte",
    "GB": "digital-gigabyte", "TB": "digital-terabyte",
}  # fmt: skip
_CURRENCIES = {"€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "CHF": "CHF"}
_NUMBER = re.compile(r"\d[\d.,]*")

# The noun with the place of its number: "{} kilometrów".
Count = Callable[[Decimal], str]


@dataclass(frozen=True, slots=True)
class CountedNoun(Noun):
    """A noun whose form depends on the number before it."""

    count: Count = "{}".format

    @classmethod
    def of(cls, count: Count) -> "CountedNoun":
        one = count(Decimal(1)).replace("{}", "").strip()
        return cls(one, one, count=count)

    def find_gender(self, reading: Reading) -> str:
        """A guess from the ending of its first word."""
        first = self.one.split()[0] if self.one else ""
        for gender, ending in (("feminine", reading.feminine), ("neuter", reading.neuter)):
            if ending and re.search(f"(?:{ending})$", first):
                return gender
        return "masculine"


def list_units(locale: Locale, reading: Reading) -> Iterator[tuple[str, Noun]]:
    """Symbols and their nouns: everyone's, those of CLDR, and those of the table."""
    for symbol, unit in _UNITS.items():
        noun = CountedNoun.of(partial(count_unit, locale, unit))
        short = _NUMBER.sub("", format_unit(5, unit, "short", locale=locale)).strip()
        own = [each for each, latin in reading.units.items() if latin == symbol]
        yield from ((each, noun) for each in (symbol, short, *own) if each)


def count_unit(locale: Locale, unit: str, number: Decimal) -> str:
    """Some units have only a short form, which is a word then."""
    formatted = format_unit(number, unit, "long", "0.#", locale)
    if unit in formatted:
        formatted = format_unit(number, unit, "short", "0.#", locale)
    return _NUMBER.sub("{}", formatted, count=1).replace("/", " ")


def list_currencies(locale: Locale, reading: Reading) -> Iterator[tuple[str, Currency]]:
    for symbol, code in {**_CURRENCIES, **{code: code for code in _CURRENCIES.values()}}.items():
        yield symbol, Currency(CountedNoun.of(partial(_count_currency, locale, code)), None)
    for symbol, forms in reading.money.items():
        yield symbol, Currency(CountedNoun.of(partial(_count_forms, locale, forms)), None)


def _count_currency(locale: Locale, code: str, number: Decimal) -> str:
    return "{} " + get_currency_name(code, float(number), locale)


def _count_forms(locale: Locale, forms: dict[str, str], number: Decimal) -> str:
    return "{} " + forms.get(locale.plural_form(number), forms["other"])
