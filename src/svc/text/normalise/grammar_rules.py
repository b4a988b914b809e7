"""The rules of all languages other than English; a grammar supplies the words."""

import re

from svc.text.normalise import typography, urls
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.rules import Rule, any_of

MOST_DAYS, MOST_MONTHS, MOST_HOURS = 31, 12, 24


def build_rules(grammar: Grammar) -> tuple[Rule, ...]:
    """All rules of a language, in order of precedence."""
    return (
        *typography.BLOCKS,
        *urls.build_rules(grammar.signs, grammar.integer),
        *grammar.extra_rules(),
        *_build_date_rules(grammar),
        *_build_time_rules(grammar),
        *_build_money_rules(grammar),
        *_build_quantity_rules(grammar),
        *_build_abbreviation_rules(grammar),
        *_build_number_rules(grammar),
        Rule(r"[ ]*&[ ]*", f" {grammar.conjunction} "),
        *typography.MARKS,
    )


# A noun that a number counts; some function words in its place are left out.
_NOUN = re.compile(r"[ ](?!para\b|contra\b|hasta\b|cada\b|por\b|con\b|que\b|como\b)([a-zà-ÿ]{3,})")

# A number right after letters is part of a name. Chinese, Japanese, Korean and Hindi have no spaces around numbers.
_LETTERS = r"A-Za-zÀ-ʯͰ-ԯ\u0620-\u065f\u0b80-\u0bffḀ-ỿ"
START = rf"(?<![{_LETTERS}\d])(?<!\d[.,:])"
END = rf"(?![{_LETTERS}\d])"


def _pattern(grammar: Grammar, prefix: str = "") -> str:
    """A pattern for a number, its digits and decimals in named groups."""
    decimal = re.escape(grammar.decimal_mark)
    return (
        rf"(?P<{prefix}whole>\d{{1,3}}(?:{grammar.group})++(?!\d)|\d++)"
        rf"(?:{decimal}(?P<{prefix}decimals>\d++))?(?!{decimal}?\d)"
    )


def _get_digits(match: re.Match[str], prefix: str = "") -> tuple[str, str | None]:
    """The digits of a number without thousands separators, and its decimals."""
    return re.sub(r"\D", "", match[prefix + "whole"]), match[prefix + "decimals"]


def _build_date_rules(grammar: Grammar) -> list[Rule]:
    def say_date(match: re.Match[str]) -> str | None:
        day, month, year = int(match["day"]), int(match["month"]), int(match["year"])
        if not (1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS):
            return None
        return grammar.date(day, month, year if year >= 100 else 2000 + year)

    return [
        Rule(
            rf"{START}(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?![\d/])",
            say_date,
        ),
        Rule(
            rf"{START}(?P<day>\d{{1,2}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d)(?![\d/])",
            say_date,
        ),
    ]


def _build_time_rules(grammar: Grammar) -> list[Rule]:
    def say_time(match: re.Match[str]) -> str | None:
        hour = int(match["hour"])
        return grammar.time(hour, int(match["minute"] or 0)) if hour <= MOST_HOURS else None

    return [
        Rule(
            rf"{START}(?P<hour>\d{{1,2}})[:：](?P<minute>[0-5]\d)(?:[:：][0-5]\d)?(?:[ ]?hs?\b\.?)?(?![:\d])", say_time
        ),
        Rule(rf"{START}(?P<hour>\d{{1,2}})[ ]?h[ ]?(?P<minute>[0-5]\d)?(?:min)?{END}", say_time),
    ]


def _build_money_rules(grammar: Grammar) -> list[Rule]:
    def say_money(match: re.Match[str]) -> str:
        whole, decimals = _get_digits(match)
        currency = grammar.currencies[match["currency"]]
        sign = grammar.minus + grammar.space if match["sign"] else ""
        if match["magnitude"]:
            magnitude = grammar.magnitudes[match["magnitude"]]
            return sign + grammar.large_money(whole, decimals, magnitude, currency)
        return sign + grammar.money(whole, decimals, currency)

    symbol = any_of(grammar.currencies)
    magnitude = rf"(?:[ ]?(?P<magnitude>{any_of(grammar.magnitudes)}))?"
    sign = r"(?P<sign>(?<![\w)])-)?"
    return [
        Rule(rf"{sign}(?<![^\W\d_])(?P<currency>{symbol})[ ]?{_pattern(grammar)}{magnitude}{END}", say_money),
        Rule(rf"{sign}{START}{_pattern(grammar)}{magnitude}[ ]?(?P<currency>{symbol}){END}", say_money),
    ]


def _build_quantity_rules(grammar: Grammar) -> list[Rule]:
    def add_sign(match: re.Match[str], spoken: str) -> str:
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def say_percentage(match: re.Match[str]) -> str:
        spoken = grammar.number(*_get_digits(match))
        if match["low_whole"]:
            spoken = grammar.space.join((grammar.number(*_get_digits(match, "low_")), grammar.to, spoken))
        return add_sign(match, grammar.percentage(spoken))

    def say_quantity(match: re.Match[str]) -> str:
        return add_sign(match, grammar.quantity(*_get_digits(match), grammar.units[match["unit"]]))

    sign = r"(?P<sign>(?<![\w)%°])-)?"
    low = rf"(?:{_pattern(grammar, 'low_')}[ ]?%?[-–~])?"
    return [
        Rule(rf"{sign}{START}{low}{_pattern(grammar)}[ ]?%", say_percentage),
        Rule(rf"{sign}{START}{_pattern(grammar)}[ ]?(?P<unit>{any_of(grammar.units)}){END}", say_quantity),
    ]


def _build_abbreviation_rules(grammar: Grammar) -> list[Rule]:
    def expand(match: re.Match[str]) -> str:
        return grammar.abbreviations[match["word"]]

    return [Rule(rf"(?<![^\W_])(?P<word>{any_of(grammar.abbreviations)})(?![^\W_])", expand)]


def _build_number_rules(grammar: Grammar) -> list[Rule]:
    def say_ordinal(match: re.Match[str]) -> str:
        return grammar.ordinal(int(match["number"]), feminine=grammar.ordinal_marks[match["mark"]])

    def say_phone_number(match: re.Match[str]) -> str:
        groups = re.findall(r"\d+", match[0])
        plus = f"{grammar.operators['+']} " if match[0].startswith("+") else ""
        return plus + grammar.pause.join(grammar.digits(group) for group in groups)

    def say_range(match: re.Match[str]) -> str:
        low, high = grammar.number(*_get_digits(match, "low_")), grammar.number(*_get_digits(match))
        return grammar.space.join((low, grammar.to, high))

    def say_fraction(match: re.Match[str]) -> str:
        return grammar.fractions[match[0]]

    def say_operator(match: re.Match[str]) -> str:
        return grammar.space + grammar.operators[match["sign"]] + grammar.space

    def say_number(match: re.Match[str]) -> str:
        whole, decimals = _get_digits(match)
        noun = _NOUN.match(match.string, match.end())
        if noun and not decimals and 0 < len(whole) < 10 and whole[0] != "0":
            spoken = grammar.cardinal_before_noun(int(whole), feminine=grammar.is_feminine(noun[1]))
        else:
            spoken = grammar.number(whole, decimals)
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def say_digits(match: re.Match[str]) -> str:
        return grammar.space + grammar.integer(match[0]) + grammar.space

    found = [
        Rule(r"(?<![\w+])\+?\d{2,4}(?:[ .-]\(?\d{2,4}\)?){3,6}(?![\d,])", say_phone_number),
        Rule(r"(?<![\w+])\+\d{6,15}(?!\d)|(?<![\w.,])(?:\(?0\d{1,3}\)?[ -]\d{3,4}[ -]\d{3,4})(?!\d)", say_phone_number),
        Rule(
            rf"{START}{_pattern(grammar, 'low_')}[ ]?[-–～〜][ ]?{_pattern(grammar)}(?![-\d])(?![ ]*=){END}",
            say_range,
        ),
        Rule(rf"(?<=[\w)])[ ]*(?P<sign>{any_of(grammar.operators.keys() - {'-'})})[ ]*(?=[\w(√-])", say_operator),
        Rule(r"(?<=\d)[ ]*(?P<sign>-)[ ]*(?=\d+[ ]*=)", say_operator),
        Rule(rf"(?:(?<![\w)])(?P<sign>-))?{START}{_pattern(grammar)}", say_number),
        Rule(r"\d++", say_digits),
    ]
    if grammar.fractions:
        found.insert(0, Rule(rf"(?<![\d/])(?:{any_of(grammar.fractions)})(?![\d/])", say_fraction))
    if grammar.ordinal_marks:
        found.insert(
            0, Rule(rf"{START}(?P<number>\d{{1,4}})(?P<mark>{any_of(grammar.ordinal_marks)}){END}", say_ordinal)
        )
    return found
