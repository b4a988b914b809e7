"""The languages of the table: numbers and names come from CLDR, the rest from data/languages.toml."""

import re
from decimal import Decimal
from typing import ClassVar

from svc.text.language.table import LanguageRow
from svc.text.normalise.counted_nouns import PERCENT, CountedNoun, list_currencies, list_units
from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.grammar_rules import END, MOST_DAYS, MOST_MONTHS, START
from svc.text.normalise.locale_data import load_locale
from svc.text.normalise.number_words import NumberWords
from svc.text.normalise.rules import Rule, any_of
from svc.text.normalise.urls import SignNames

# What comes before a German ordinal number that ends in -n.
_DATIVE = re.compile(r"\b(?:[ai]m|vom|zum|zur|de[mnrs]|bis|seit|ab|und|oder)[ ]\Z", re.IGNORECASE)


class CldrGrammar(Grammar):
    magnitudes: ClassVar = {}

    def __init__(self, code: str, row: LanguageRow) -> None:
        reading = row.reading
        self._reading = reading
        self._nouns = row.nouns
        self._locale = load_locale(code)
        self._words = NumberWords(code, reading)
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
        self.months = tuple(reading.months) or tuple(self._locale.months)
        # Class variables of the other grammars; here they depend on the row.
        vars(self).update(
            operators={
                "+": reading.plus, "-": self.minus, "=": reading.equals, "×": reading.times, "÷": reading.by,
            },
            abbreviations=row.abbreviations,
            units=dict(list_units(self._locale, reading)),
            currencies=dict(list_currencies(self._locale, reading)),
        )  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        return self._words.before_noun(number, "feminine") if feminine else self._words.cardinal(number)

    def ordinal(self, number: int, *, feminine: bool = False) -> str:
        return self._words.ordinal(number)

    def integer(self, digits: str) -> str:
        return self._words.number(int(digits)) if len(digits) == 4 and digits[0] != "0" else super().integer(digits)

    def decimals(self, digits: str) -> str:
        return self.digits(digits) if self._reading.digit_decimals else super().decimals(digits)

    def is_feminine(self, noun: str) -> bool:
        """Only the nouns of units and money are counted by gender: endings of others tell too little."""
        return False

    def quantity(self, whole: str, decimals: str | None, noun: Noun) -> str:
        assert isinstance(noun, CountedNoun)
        if decimals or len(whole) > 15:
            spoken = self.number(whole, decimals)
        else:
            spoken = self._words.before_noun(int(whole), noun.find_gender(self._reading))
        return noun.count(Decimal(f"{whole}.{decimals or 0}").normalize()).replace("{}", spoken)

    def money(self, whole: str, decimals: str | None, currency: Currency) -> str:
        """Cents as they are said at a till: twelve euros fifty."""
        if not decimals or len(decimals) != 2 or int(whole) == 0:
            return self.quantity(whole, decimals, currency.unit)
        spoken = self.quantity(whole, None, currency.unit)
        return f"{spoken} {self.cardinal(int(decimals))}" if int(decimals) else spoken

    def percentage(self, number: str) -> str:
        pattern = self._reading.percent or self._locale.choose_form(self._locale.units[PERCENT], Decimal(100))
        return pattern.replace("{}", number)

    def date(self, day: int, month: int, year: int | None) -> str:
        return self._say_date(day, self.months[month - 1], year)

    def time(self, hour: int, minute: int) -> str:
        pattern = self._reading.time if minute else self._reading.hour
        return pattern.format(hour=self._words.hour(hour), minute=self.cardinal(minute))

    def extra_rules(self) -> list[Rule]:
        reading = self._reading
        rules = [*self._build_date_rules(), *(Rule(re.escape(mark), spoken) for mark, spoken in reading.marks.items())]
        if self._words.have_ordinals:
            followers = "|".join(["[a-zà-öø-ž]", *self._nouns])
            rules.append(Rule(rf"{START}(?P<number>\d{{1,3}})\.(?=[ ](?:{followers}))", self._say_ordinal))
        if reading.one:
            symbols = any_of({*self.units, *self.currencies})
            rules.append(Rule(rf"{START}1(?![ ](?:{symbols}){END})(?=[ ][^\W\d_]{{2,}})", reading.one))
        if reading.counters:
            rules.append(
                Rule(rf"{START}\d\d?(?=[ ]?(?:{reading.counters}))", lambda match: self._words.count(int(match[0])))
            )
        if not self.percentage("").startswith(" "):  # the sign comes first, too
            rules.append(Rule(rf"%(?P<number>\d+){END}", lambda match: self.percentage(self.integer(match["number"]))))
        return rules

    def _build_date_rules(self) -> list[Rule]:
        """Months in words, and numbers with spaces between."""
        months = any_of({*self.months, *self._locale.months_alone})
        day, year, month = r"(?P<day>\d\d?)", r"(?P<year>\d{4})", rf"(?P<month>{months})"
        suffix = self._reading.date.partition("{year}")[2].strip(" 년")
        after_year = rf"(?:[ ](?:{re.escape(suffix)}\b|{re.escape(suffix[0])}\.))?" if suffix else ""
        rules = [
            Rule(rf"{START}{day}\.[ ](?P<number>\d\d?)\.[ ]?{year}{END}", self._say_spaced_date),
            Rule(rf"{START}{day}\.?[ ]{month}(?:[ ]{year}{after_year})?{END}", self._say_written_date),
        ]
        if self._reading.date.startswith("{year} "):
            rules.append(Rule(rf"{START}{year}\.?[ ]{month}[ ]{day}{END}\.?", self._say_written_date))
        return rules

    def _say_written_date(self, match: re.Match[str]) -> str | None:
        if not 1 <= int(match["day"]) <= MOST_DAYS:
            return None
        return self._say_date(int(match["day"]), match["month"], int(match["year"]) if match["year"] else None)

    def _say_spaced_date(self, match: re.Match[str]) -> str | None:
        day, month = int(match["day"]), int(match["number"])
        if not (1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS):
            return None
        return self.date(day, month, int(match["year"]))

    def _say_date(self, day: int, month: str, year: int | None) -> str:
        spoken = self._words.day(day)
        if year is None:
            return self._reading.day_month.format(day=spoken, month=month)
        return self._reading.date.format(day=spoken, month=month, year=self._words.year(year))

    def _say_ordinal(self, match: re.Match[str]) -> str:
        return self._words.ordinal(int(match["number"]), "n" if _DATIVE.search(match.string[: match.start()]) else "")
