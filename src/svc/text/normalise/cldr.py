"""The languages of the table: number words by CLDR's rules (unicode-rbnf), names of months, units, currencies by Babel.

What CLDR lacks is in data/languages.toml: the words for signs, and how a date or a time is put together.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import ClassVar
from unicodedata import normalize

from babel import Locale
from babel.numbers import get_currency_name
from babel.units import format_unit
from unicode_rbnf import RbnfEngine

from svc.text.language_table import LanguageRow
from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.grammar_rules import END, MOST_DAYS, MOST_MONTHS, START
from svc.text.normalise.rules import Rule, any_of
from svc.text.normalise.urls import SignNames

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
_COUNTED_YEARS = "spellout-numbering-year"  # nineteen hundred ninety-nine
_FORMATTED = re.compile(r"\d[\d.,]*")
_APOSTROPHES = str.maketrans("ʼ’", "''")
_ACCENT = re.compile(r"[\u0300-\u036f]")
# A preposition or article that is followed by a number with the ending -n.
_GERMAN_DATIVE = re.compile(r"\b(?:[aiv]m|[vz]om|zum|zur|de[mnrs]|bis|seit|ab|und|oder|bzw\.)[ ]\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CountedNoun(Noun):
    """A noun whose form depends on the number, with the number's place: "{} kilometrów"."""

    count: Callable[[Decimal], str] = lambda number: "{}"


class CldrGrammar(Grammar):
    magnitudes: ClassVar = {}

    def __init__(self, code: str, row: LanguageRow) -> None:
        reading = row.reading
        self._reading = reading
        self._locale = Locale.parse(row.locale, sep="-")
        self._engine = RbnfEngine.for_language(code)
        self.decimal_mark = reading.decimal
        self.group = r"[. ]\d{3}" if reading.decimal == "," else r",\d{3}"
        self.point = reading.point
        self.minus = reading.minus
        self.to = reading.to
        self.conjunction = reading.conjunction
        self.signs = SignNames(
            at=reading.at, dot=reading.dot, slash=reading.slash, hyphen=reading.hyphen,
            underscore=reading.underscore, hashtag="hashtag", equals=reading.equals, question="",
            ampersand=reading.conjunction, colon="", spell=" ".join,
        )  # fmt: skip
        self.months = tuple(reading.months) or tuple(self._locale.months["format"]["wide"].values())
        # Class variables of the other grammars; here they depend on the row.
        vars(self).update(
            operators={
                "+": reading.plus, "-": self.minus, "=": reading.equals, "×": reading.times, "÷": reading.by,
            },
            abbreviations=row.abbreviations,
            units=dict(self._list_units()),
            currencies=dict(self._list_currencies()),
        )  # fmt: skip
        self._nouns = row.nouns

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        return self._say(number, self._find_ruleset("feminine") if feminine else self._reading.cardinal)

    def ordinal(self, number: int, *, feminine: bool = False) -> str:
        rulesets = [name for name in self._engine.rulesets if name.startswith("spellout-ordinal")]
        return self._say(number, min(rulesets, key=len)) if rulesets else self.cardinal(number)

    def integer(self, digits: str) -> str:
        """Numbers of four digits may be years, which some languages count in hundreds."""
        if len(digits) == 4 and 1100 <= int(digits) < 2000 and self._reading.year == _COUNTED_YEARS:
            return self._say(int(digits), _COUNTED_YEARS)
        return super().integer(digits)

    def decimals(self, digits: str) -> str:
        return self.digits(digits) if self._reading.digit_decimals else super().decimals(digits)

    def is_feminine(self, noun: str) -> bool:
        """Only the nouns of units and money are counted by gender: endings of others tell too little."""
        return False

    def quantity(self, whole: str, decimals: str | None, noun: Noun) -> str:
        assert isinstance(noun, CountedNoun)
        gender = self._find_gender(noun.one)
        if decimals or len(whole) > 15:
            spoken = self.number(whole, decimals)
        elif int(whole) == 1 and self._reading.one and gender == "masculine":
            spoken = self._reading.one
        else:
            spoken = self._say(int(whole), self._find_ruleset(gender))
        return noun.count(Decimal(f"{whole}.{decimals or 0}").normalize()).replace("{}", spoken)

    def money(self, whole: str, decimals: str | None, currency: Currency) -> str:
        """Cents as they are said at a till: twelve euros fifty."""
        if not decimals or len(decimals) != 2 or int(whole) == 0:
            return self.quantity(whole, decimals, currency.unit)
        spoken = self.quantity(whole, None, currency.unit)
        return f"{spoken} {self.cardinal(int(decimals))}" if int(decimals) else spoken

    def percentage(self, number: str) -> str:
        pattern = self._reading.percent or self._count_unit("concentr-percent", Decimal(100))
        return pattern.replace("{}", number)

    def date(self, day: int, month: int, year: int | None) -> str:
        return self._say_date(day, self.months[month - 1], year)

    def time(self, hour: int, minute: int) -> str:
        pattern = self._reading.time if minute else self._reading.hour
        counted = self._say(
            hour, self._reading.counter if hour <= 12 and self._reading.counter else self._find_ruleset()
        )
        return pattern.format(hour=counted, minute=self.cardinal(minute))

    def extra_rules(self) -> list[Rule]:
        months = any_of({*self.months, *self._locale.months["stand-alone"]["wide"].values()})
        suffix = self._reading.date.partition("{year}")[2].strip(" 년")
        after_year = rf"(?:[ ](?:{re.escape(suffix)}\b|{re.escape(suffix[0])}\.))?" if suffix else ""
        rules = [
            Rule(rf"{START}(?P<day>\d\d?)\.[ ](?P<month>\d\d?)\.[ ]?(?P<year>\d{{4}}){END}", self._say_spaced_date),
            Rule(
                rf"{START}(?P<day>\d{{1,2}})\.?[ ](?P<month>{months})(?:[ ](?P<year>\d{{4}}){after_year})?{END}",
                self._say_written_date,
            ),
        ]
        if self._reading.date.startswith("{year} "):
            rules.append(
                Rule(
                    rf"{START}(?P<year>\d{{4}})\.?[ ](?P<month>{months})[ ](?P<day>\d{{1,2}}){END}\.?",
                    self._say_written_date,
                )
            )
        if any(name.startswith("spellout-ordinal") for name in self._engine.rulesets):
            rules.append(
                Rule(
                    rf"{START}(?P<number>\d{{1,3}})\.(?=[ ](?:[a-zà-öø-ž]|{any_of(self._nouns or ['-'])}))",
                    self._say_ordinal,
                )
            )
        if self._reading.one:
            symbols = any_of({*self.units, *self.currencies})
            rules.append(Rule(rf"{START}1(?![ ](?:{symbols}){END})(?=[ ][^\W\d_]{{2,}})", self._reading.one))
        if not self.percentage("").startswith(" "):
            rules.append(Rule(rf"%(?P<number>\d+){END}", lambda match: self.percentage(self.integer(match["number"]))))
        rules += [Rule(re.escape(mark), spoken) for mark, spoken in self._reading.marks.items()]
        if self._reading.counters:
            rules.append(Rule(rf"{START}\d{{1,2}}(?=[ ]?(?:{self._reading.counters}))", self._say_counter))
        return rules

    def _say(self, number: int, ruleset: str) -> str:
        spoken = self._engine.format_number(number, ruleset_names=[ruleset]).text_by_ruleset[ruleset]
        spoken = spoken.strip().translate(_APOSTROPHES)
        return _ACCENT.sub("", normalize("NFD", spoken)) if self._reading.plain_letters else spoken

    def _find_ruleset(self, gender: str = "masculine") -> str:
        """The rules for a number before a noun."""
        forms = (gender, "reale", "common", "initial")
        names = [*(f"spellout-cardinal-{form}" for form in forms), "spellout-cardinal"]
        return next((name for name in names if name in self._engine.rulesets), self._reading.cardinal)

    def _find_gender(self, noun: str) -> str:
        first = noun.split()[0] if noun.strip() else ""
        for gender, ending in (("feminine", self._reading.feminine), ("neuter", self._reading.neuter)):
            if ending and re.search(f"(?:{ending})$", first):
                return gender
        return "masculine"

    def _list_units(self) -> Iterator[tuple[str, Noun]]:
        for symbol, unit in _UNITS.items():
            one = self._count_unit(unit, Decimal(1)).replace("{}", "").strip()
            noun = CountedNoun(one, one, count=partial(self._count_unit, unit))
            yield symbol, noun
            own = _FORMATTED.sub("", format_unit(5, unit, "short", locale=self._locale)).strip()
            for own_symbol in (own, *(mine for mine, latin in self._reading.units.items() if latin == symbol)):
                if own_symbol:
                    yield own_symbol, noun

    def _count_unit(self, unit: str, number: Decimal) -> str:
        """The unit with the place of its number; some have only a short form, which is a word then."""
        formatted = format_unit(number, unit, "long", "0.#", self._locale)
        if unit in formatted:
            formatted = format_unit(number, unit, "short", "0.#", self._locale)
        return _FORMATTED.sub("{}", formatted, count=1).replace("/", " ")

    def _list_currencies(self) -> Iterator[tuple[str, Currency]]:
        for symbol, code in {**_CURRENCIES, **{code: code for code in _CURRENCIES.values()}}.items():
            yield symbol, _make_currency(partial(self._count_currency, code))
        for symbol, forms in self._reading.money.items():
            yield symbol, _make_currency(partial(self._count_forms, forms))

    def _count_currency(self, code: str, number: Decimal) -> str:
        return "{} " + get_currency_name(code, float(number), self._locale)

    def _count_forms(self, forms: dict[str, str], number: Decimal) -> str:
        return "{} " + forms.get(self._locale.plural_form(number), forms["other"])

    def _say_written_date(self, match: re.Match[str]) -> str | None:
        if not 1 <= int(match["day"]) <= MOST_DAYS:
            return None
        return self._say_date(int(match["day"]), match["month"], int(match["year"]) if match["year"] else None)

    def _say_spaced_date(self, match: re.Match[str]) -> str | None:
        day, month = int(match["day"]), int(match["month"])
        if not (1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS):
            return None
        return self.date(day, month, int(match["year"]))

    def _say_date(self, day: int, month: str, year: int | None) -> str:
        reading = self._reading
        if reading.days:
            spoken = reading.days[day - 1]
        elif reading.ordinals:
            spoken = self._decline(day)
        else:
            spoken = self._say(day, reading.day or reading.cardinal)
        if year is None:
            return reading.day_month.format(day=spoken, month=month)
        return reading.date.format(day=spoken, month=month, year=self._say_year(year))

    def _say_year(self, year: int) -> str:
        if self._reading.year == _COUNTED_YEARS:
            return self.integer(str(year))
        if self._reading.year != "ordinals":
            return self._say(year, self._reading.year)
        centuries, rest = year // 100 * 100, year % 100
        if not rest:
            return self.cardinal(year)
        return f"{self.cardinal(centuries)} {self._decline(rest)}" if centuries else self._decline(rest)

    def _decline(self, number: int) -> str:
        """An ordinal number of a date, below a hundred."""
        tens, ones = divmod(number, 10)
        if number < 20:
            return self._reading.ordinals[number - 1]
        if not ones:
            return self._reading.tens[tens - 2]
        head = self.cardinal(10 * tens) if self._reading.cardinal_tens else self._reading.tens[tens - 2]
        return f"{head} {self._reading.ordinals[ones - 1]}"

    def _say_ordinal(self, match: re.Match[str]) -> str:
        number = int(match["number"])
        if "spellout-ordinal-n" in self._engine.rulesets and _GERMAN_DATIVE.search(match.string[: match.start()]):
            return self._say(number, "spellout-ordinal-n")
        return self.ordinal(number)

    def _say_counter(self, match: re.Match[str]) -> str:
        return self._say(int(match[0]), self._reading.counter)


def _make_currency(count: Callable[[Decimal], str]) -> Currency:
    one = count(Decimal(1)).replace("{}", "").strip()
    return Currency(CountedNoun(one, one, count=count), None)
