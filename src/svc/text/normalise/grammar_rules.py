"""The rules that languages other than English share; a grammar supplies the words."""

import re

from svc.text.normalise import typography, urls
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.rules import Rule, any_of, rule

MOST_DAYS, MOST_MONTHS, MOST_HOURS = 31, 12, 24


def rules(grammar: Grammar) -> tuple[Rule, ...]:
    """All rules of a language, in the order in which they are asked."""
    return (
        *typography.BLOCKS,
        *urls.rules(grammar.signs, grammar.whole),
        *grammar.extra_rules(),
        *_dates(grammar),
        *_clock(grammar),
        *_money(grammar),
        *_quantities(grammar),
        *_words(grammar),
        *_numbers(grammar),
        rule(r"[ ]*&[ ]*", f" {grammar.conjunction} "),
        *typography.MARKS,
    )


# A noun that a number counts; words that only look like one are left out.
_NOUN = re.compile(r"[ ](?!para\b|contra\b|hasta\b|cada\b|por\b|con\b|que\b|como\b)([a-zà-ÿ]{3,})")

# Latin letters right before a digit make a name of it; other scripts write no spaces around numbers.
START = r"(?<![A-Za-zÀ-ÿ\d])(?<!\d[.,:])"
END = r"(?![A-Za-zÀ-ÿ\d])"


def _number(grammar: Grammar, prefix: str = "") -> str:
    """A pattern for a number, its digits and decimals in named groups."""
    decimal = re.escape(grammar.decimal_mark)
    return (
        rf"(?P<{prefix}whole>\d{{1,3}}(?:{grammar.group})++(?!\d)|\d++)"
        rf"(?:{decimal}(?P<{prefix}decimals>\d++))?(?!{decimal}?\d)"
    )


def _parts(match: re.Match[str], prefix: str = "") -> tuple[str, str | None]:
    """The digits of a number without its group marks, and its decimals."""
    return re.sub(r"\D", "", match[prefix + "whole"]), match[prefix + "decimals"]


def _dates(grammar: Grammar) -> list[Rule]:
    def read(match: re.Match[str]) -> str | None:
        day, month, year = int(match["day"]), int(match["month"]), int(match["year"])
        if not (1 <= day <= MOST_DAYS and 1 <= month <= MOST_MONTHS):
            return None
        return grammar.date(day, month, year if year >= 100 else 2000 + year)

    return [
        rule(rf"{START}(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?![\d/])", read),
        rule(
            rf"{START}(?P<day>\d{{1,2}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d)(?![\d/])",
            read,
        ),
    ]


def _clock(grammar: Grammar) -> list[Rule]:
    def read(match: re.Match[str]) -> str | None:
        hour = int(match["hour"])
        return grammar.clock(hour, int(match["minute"] or 0)) if hour <= MOST_HOURS else None

    return [
        rule(rf"{START}(?P<hour>\d{{1,2}})[:：](?P<minute>[0-5]\d)(?:[:：][0-5]\d)?(?:[ ]?hs?\b\.?)?(?![:\d])", read),
        rule(rf"{START}(?P<hour>\d{{1,2}})[ ]?h[ ]?(?P<minute>[0-5]\d)?(?:min)?{END}", read),
    ]


def _money(grammar: Grammar) -> list[Rule]:
    def read(match: re.Match[str]) -> str:
        whole, decimals = _parts(match)
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
        rule(rf"{sign}(?<![^\W\d_])(?P<currency>{symbol})[ ]?{_number(grammar)}{magnitude}{END}", read),
        rule(rf"{sign}{START}{_number(grammar)}{magnitude}[ ]?(?P<currency>{symbol}){END}", read),
    ]


def _quantities(grammar: Grammar) -> list[Rule]:
    def signed(match: re.Match[str], spoken: str) -> str:
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def percentage(match: re.Match[str]) -> str:
        spoken = grammar.number(*_parts(match))
        if match["low_whole"]:
            spoken = grammar.space.join((grammar.number(*_parts(match, "low_")), grammar.to, spoken))
        return signed(match, grammar.percentage(spoken))

    def quantity(match: re.Match[str]) -> str:
        return signed(match, grammar.quantity(*_parts(match), grammar.units[match["unit"]]))

    sign = r"(?P<sign>(?<![\w)%°])-)?"
    low = rf"(?:{_number(grammar, 'low_')}[ ]?%?[-–~])?"
    return [
        rule(rf"{sign}{START}{low}{_number(grammar)}[ ]?%", percentage),
        rule(rf"{sign}{START}{_number(grammar)}[ ]?(?P<unit>{any_of(grammar.units)}){END}", quantity),
    ]


def _words(grammar: Grammar) -> list[Rule]:
    def expand(match: re.Match[str]) -> str:
        return grammar.abbreviations[match["word"]]

    return [rule(rf"(?<![^\W_])(?P<word>{any_of(grammar.abbreviations)})(?![^\W_])", expand)]


def _numbers(grammar: Grammar) -> list[Rule]:
    def ordinal(match: re.Match[str]) -> str:
        return grammar.ordinal(int(match["number"]), feminine=grammar.ordinal_marks[match["mark"]])

    def phone(match: re.Match[str]) -> str:
        groups = re.findall(r"\d+", match[0])
        plus = f"{grammar.operators['+']} " if match[0].startswith("+") else ""
        return plus + grammar.pause.join(grammar.digits(group) for group in groups)

    def number_range(match: re.Match[str]) -> str:
        low, high = grammar.number(*_parts(match, "low_")), grammar.number(*_parts(match))
        return grammar.space.join((low, grammar.to, high))

    def fraction(match: re.Match[str]) -> str:
        return grammar.fractions[match[0]]

    def operator(match: re.Match[str]) -> str:
        return grammar.space + grammar.operators[match["sign"]] + grammar.space

    def number(match: re.Match[str]) -> str:
        whole, decimals = _parts(match)
        noun = _NOUN.match(match.string, match.end())
        if noun and not decimals and 0 < len(whole) < 10 and whole[0] != "0":
            spoken = grammar.counting(int(whole), feminine=grammar.is_feminine(noun[1]))
        else:
            spoken = grammar.number(whole, decimals)
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def last_resort(match: re.Match[str]) -> str:
        return grammar.space + grammar.whole(match[0]) + grammar.space

    found = [
        rule(r"(?<![\w+])\+?\d{2,4}(?:[ .-]\(?\d{2,4}\)?){3,6}(?![\d,])", phone),
        rule(r"(?<![\w+])\+\d{6,15}(?!\d)|(?<![\w.,])(?:\(?0\d{1,3}\)?[ -]\d{3,4}[ -]\d{3,4})(?!\d)", phone),
        rule(
            rf"{START}{_number(grammar, 'low_')}[ ]?[-–～〜][ ]?{_number(grammar)}(?![-\d])(?![ ]*=){END}", number_range
        ),
        rule(rf"(?<=[\w)])[ ]*(?P<sign>{any_of(grammar.operators.keys() - {'-'})})[ ]*(?=[\w(√-])", operator),
        rule(r"(?<=\d)[ ]*(?P<sign>-)[ ]*(?=\d+[ ]*=)", operator),
        rule(rf"(?:(?<![\w)])(?P<sign>-))?{START}{_number(grammar)}", number),
        rule(r"\d++", last_resort),
    ]
    if grammar.fractions:
        found.insert(0, rule(rf"(?<![\d/])(?:{any_of(grammar.fractions)})(?![\d/])", fraction))
    if grammar.ordinal_marks:
        found.insert(0, rule(rf"{START}(?P<number>\d{{1,4}})(?P<mark>{any_of(grammar.ordinal_marks)}){END}", ordinal))
    return found
