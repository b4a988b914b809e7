"""Units and currencies of the languages of the table, with the forms that numbers ask for, by CLDR."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from svc.text.language.table import Reading
from svc.text.normalise.grammar import Currency, Noun
from svc.text.normalise.locale_data import LocaleData

# The symbol of a unit that is the same everywhere. CLDR knows those of each language, such as км, too.
UNITS = {
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
CURRENCIES = {"€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "CHF": "CHF"}
PERCENT = "concentr-percent"

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


def list_units(locale: LocaleData, reading: Reading) -> Iterator[tuple[str, Noun]]:
    """Symbols and their nouns: everyone's, those of CLDR, and those of the table."""
    for symbol, unit in UNITS.items():
        noun = CountedNoun.of(partial(locale.choose_form, locale.units[unit]))
        own = [each for each, latin in reading.units.items() if latin == symbol]
        yield from ((each, noun) for each in (symbol, locale.symbols[unit], *own) if each)


def list_currencies(locale: LocaleData, reading: Reading) -> Iterator[tuple[str, Currency]]:
    for symbol, code in {**CURRENCIES, **{code: code for code in CURRENCIES.values()}}.items():
        yield symbol, Currency(CountedNoun.of(partial(locale.choose_form, locale.currencies[code])), None)
    for symbol, nouns in reading.money.items():
        forms = {category: "{} " + noun for category, noun in nouns.items()}
        yield symbol, Currency(CountedNoun.of(partial(locale.choose_form, forms)), None)
