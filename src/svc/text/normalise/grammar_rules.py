"""Dates, times, money, quantities and abbreviations in languages other than English; a grammar supplies the words."""

import re

from svc.text.normalise.grammar import Grammar
from svc.text.normalise.rules import Rule, after, any_of

MOST_DAYS, MOST_MONTHS, MOST_HOURS = 31, 12, 24

# A number right after letters is part of a name. Chinese, Japanese, Korean and Hindi have no spaces around numbers.
_LETTERS = r"A-Za-zÀ-ʯͰ-ԯ\u0620-\u065f\u0b80-\u0bffḀ-ỿ"
START = rf"(?:(?<![{_LETTERS}\d])|(?<=\dx))(?<!\d[.,:])"  # 30x40 has two numbers
END = rf"(?![{_LETTERS}\d])"

# A minus sign, not a hyphen.
SIGN = rf"(?P<sign>(?<![{_LETTERS}\d)%°])-)?"


def number_pattern(grammar: Grammar, prefix: str = "") -> str:
    """A pattern for a number, its digits and decimals in named groups.

    Where the decimal mark is a comma, a point before one or two digits is one, too.
    """
    decimal = re.escape(grammar.decimal_mark)
    point = rf"|\.(?P<{prefix}point>\d{{1,2}})(?![\d.]\d|\d)" if grammar.decimal_mark == "," else ""
    return (
        rf"(?P<{prefix}whole>\d{{1,3}}(?:{grammar.group})++(?!\d)|\d++)"
        rf"(?:{decimal}(?P<{prefix}decimals>\d++){point})?(?!{decimal}?\d)"
    )


def get_digits(match: re.Match[str], prefix: str = "") -> tuple[str, str | None]:
    """The digits of a number without thousands separators, and its decimals."""
    found = match.groupdict()
    return re.sub(r"\D", "", found[prefix + "whole"]), found[prefix + "decimals"] or found.get(prefix + "point")


def say_low(grammar: Grammar, match: re.Match[str]) -> str:
    """The lower end of a range, with the word that leads to the upper end; nothing if there is none."""
    if not match["low_whole"]:
        return ""
    return grammar.number(*get_digits(match, "low_")) + grammar.space + grammar.to + grammar.space


def pattern_low(grammar: Grammar) -> str:
    """A pattern for the lower end of a range that may come before a number."""
    return rf"(?:{number_pattern(grammar, 'low_')}[ ]?%?[-–~〜～])?"


def build_date_rules(grammar: Grammar) -> list[Rule]:
    def say_date(match: re.Match[str]) -> str | None:
        day, month, year = int(match["day"]), int(match["month"]), int(match["year"])
        if not (1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS):
            return None
        century = 0 if year >= 100 else 2000 if year < 70 else 1900
        return grammar.date(day, month, century + year)

    def say_day(match: re.Match[str]) -> str | None:
        day, month = int(match["day"]), int(match["month"])
        return grammar.date(day, month, None) if 1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS else None

    def expand_month(match: re.Match[str]) -> str:
        return grammar.months[abbreviations.index(match["month"].lower())]

    abbreviations = grammar.month_abbreviations
    day = rf"{after(*grammar.date_words)}(?P<day>\d{{1,2}})/(?P<month>\d{{1,2}})(?![\d/])"
    # After a day; without a full stop only before a year, since "2 set" may be two sets.
    month = rf"(?:(?<=\d )|(?<=\d de ))(?P<month>{any_of(abbreviations)})(?:\.|(?=[ ](?:de )?\d{{4}}))"
    return [
        *([Rule(month, expand_month, re.IGNORECASE)] if abbreviations else []),
        *([Rule(day, say_day, re.IGNORECASE)] if grammar.date_words else []),
        Rule(
            rf"{START}(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?![\d/])",
            say_date,
        ),
        Rule(
            rf"{START}(?P<day>\d{{1,2}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d)(?!\.?\d|/)",
            say_date,
        ),
    ]


def build_time_rules(grammar: Grammar) -> list[Rule]:
    def say_time(match: re.Match[str]) -> str | None:
        hour = int(match["hour"])
        return grammar.time(hour, int(match["minute"] or 0)) if hour <= MOST_HOURS else None

    def say_hours(match: re.Match[str]) -> str | None:
        """ "3 h" may be a time or a duration."""
        if match["minute"] or "h" not in grammar.units:
            return say_time(match)
        return grammar.quantity(match["hour"], None, grammar.units["h"])

    def say_time_range(match: re.Match[str]) -> str | None:
        start, end = int(match["hour"]), int(match["end_hour"])
        if max(start, end) > MOST_HOURS:
            return None
        times = grammar.time(start, int(match["minute"])), grammar.time(end, int(match["end_minute"]))
        return f"{grammar.space}{grammar.to}{grammar.space}".join(times)

    def say_score(match: re.Match[str]) -> str:
        score = grammar.score or grammar.to
        return grammar.space.join((grammar.integer(match["one"]), score, grammar.integer(match["other"])))

    return [
        Rule(
            rf"{START}(?P<hour>\d{{1,2}})[:：](?P<minute>[0-5]\d)[ ]?[-–~〜～][ ]?"
            rf"(?P<end_hour>\d{{1,2}})[:：](?P<end_minute>[0-5]\d)(?:[ ]?hs?\b\.?)?(?![:\d])",
            say_time_range,
        ),
        Rule(rf"{START}(?P<one>\d{{1,3}})[:：](?P<other>\d)(?![:：.,]?\d)", say_score),
        Rule(
            rf"{START}(?P<hour>\d{{1,2}})[:：](?P<minute>[0-5]\d)(?:[:：][0-5]\d)?(?:[ ]?hs?\b\.?)?(?![:\d])", say_time
        ),
        Rule(rf"{START}(?P<hour>\d{{1,2}})[ ]?h[ ]?(?P<minute>[0-5]\d)?(?:min)?{END}", say_hours),
    ]


def build_money_rules(grammar: Grammar) -> list[Rule]:
    def say_money(match: re.Match[str]) -> str:
        whole, decimals = get_digits(match)
        currency = grammar.currencies[match["currency"]]
        sign = grammar.minus + grammar.space if match["sign"] else ""
        sign += say_low(grammar, match)
        if match["magnitude"]:
            magnitude = grammar.magnitudes[match["magnitude"]]
            return sign + grammar.large_money(whole, decimals, magnitude, currency)
        per = f" {grammar.per} {_name_unit(grammar, match['per'])}" if match["per"] else ""
        return sign + grammar.money(whole, decimals, currency) + per

    symbol = any_of(grammar.currencies)
    magnitude = rf"(?:[ ]?(?P<magnitude>{any_of(grammar.magnitudes)}))?"
    low = pattern_low(grammar)
    per = rf"(?:/(?P<per>[{_LETTERS}\u0900-\u0963]+))?" if grammar.per else "(?P<per>(?!))?"
    amount = rf"{low}{number_pattern(grammar)}{magnitude}"
    return [
        Rule(rf"{SIGN}(?<![{_LETTERS}])(?P<currency>{symbol})[ ]?{amount}{END}{per}", say_money),
        Rule(rf"{SIGN}{START}{amount}[ ]?(?P<currency>{symbol}){END}{per}", say_money),
    ]


def _name_unit(grammar: Grammar, sign: str) -> str:
    return grammar.units[sign].one if sign in grammar.units else sign


def build_quantity_rules(grammar: Grammar) -> list[Rule]:
    def add_sign(match: re.Match[str], spoken: str) -> str:
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def say_percentage(match: re.Match[str]) -> str:
        spoken = say_low(grammar, match) + grammar.number(*get_digits(match))
        return add_sign(match, grammar.percentage(spoken))

    def say_quantity(match: re.Match[str]) -> str:
        quantity = grammar.quantity(*get_digits(match), grammar.units[match["unit"]])
        return add_sign(match, say_low(grammar, match) + quantity)

    low = pattern_low(grammar)
    return [
        Rule(rf"{SIGN}{START}{low}{number_pattern(grammar)}[ ]?%", say_percentage),
        Rule(rf"{SIGN}{START}{low}{number_pattern(grammar)}[ ]?(?P<unit>{any_of(grammar.units)}){END}", say_quantity),
    ]


def build_abbreviation_rules(grammar: Grammar) -> list[Rule]:
    def expand(match: re.Match[str]) -> str:
        return grammar.abbreviations[match["word"]]

    def expand_capitalised(match: re.Match[str]) -> str:
        return capitalised[match["word"]].capitalize()

    # At the start of a sentence any may have a capital; elsewhere "Max." is a name.
    capitalised = {word[0].upper() + word[1:]: spoken for word, spoken in grammar.abbreviations.items()}
    # A word of Devanagari may end like an abbreviation; Chinese and Japanese have no spaces around theirs.
    end = rf"(?![{_LETTERS}])(?:(?<=\.)|(?!\d))"
    return [
        Rule(rf"(?<![{_LETTERS}\d\u0900-\u0965])(?P<word>{any_of(grammar.abbreviations)}){end}", expand),
        Rule(rf"\A(?P<word>{any_of(capitalised)}){end}", expand_capitalised),
    ]
