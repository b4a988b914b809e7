"""Amounts of money."""

import re

from svc.text.normalise.english.adjectives import is_adjective
from svc.text.normalise.english.currencies import CODES, CURRENCIES, SYMBOLS
from svc.text.normalise.english.numbers import MAGNITUDES, MEASURED, NUMBER, NUMBER_START, SIGNS, Numbers, unify
from svc.text.normalise.english.unit_names import UNITS
from svc.text.normalise.rules import Rule, any_of

# What a price is for, written after it.
PER = {
    "p/m": "month", "pcm": "calendar month", "p.a.": "annum", "p.a": "annum", "pa": "annum", "p/a": "annum",
    "p/w": "week", "pw": "week", "p/h": "hour", "ph": "hour", "p/d": "day", "p/p": "person", "pp": "person",
}  # fmt: skip

_LETTERS = r"[kKmMbBtT]|[mM][nNmM]|[bBtT][nN]"
_MAGNITUDE = rf"(?:(?P<magnitude>{_LETTERS})|[ -]?(?P<word>thousand|million|billion|trillion|mil\b|mln|bn|mn))?"
_PER = rf"(?:/(?P<per>[a-z]{{1,20}})\b(?:\.(?=[ ][^A-Z]))?|[ ](?P<short>{any_of(PER)})(?!\w))?"
# Points or spaces as separators of thousands, with euros: €1.299.
_EURO = r"\d{1,3}(?:[. ]\d{3})++(?![\d,])"
_RESOLUTIONS = frozenset({"144", "240", "360", "480", "720"})


def build_rules(numbers: Numbers) -> list[Rule]:
    symbol, code = any_of(SYMBOLS), any_of(CODES)

    def say_amount(match: re.Match[str]) -> str:
        written, currency = match["number"], CURRENCIES[match["currency"]]
        magnitude = match["magnitude"] or match["word"]
        adjective = is_adjective(match)
        many = currency.one if adjective else currency.many
        if magnitude:
            return f"{numbers.number(written)} {MAGNITUDES[magnitude.lower()]} {many}"
        whole, _, hundredths = unify(written).partition(".")
        if len(hundredths) not in (0, 2):
            return f"{numbers.number(written)} {many}"
        cents = int(hundredths or 0)
        cent_words = f"{numbers.cardinal(cents)} {currency.cent if cents == 1 else currency.cents}"
        if cents and not whole.strip("0"):
            return cent_words
        spoken = f"{numbers.integer(whole)} {currency.one if whole == '1' else many}"
        return f"{spoken} and {cent_words}" if cents else spoken

    def add_per(match: re.Match[str], spoken: str) -> str:
        if match["per"] == "ea":
            return f"{spoken} each"
        if match["short"]:
            return f"{spoken} per {PER[match['short']]}"
        return f"{spoken} per {UNITS.get(match['per'], match['per'])}" if match["per"] else spoken

    def say_money(match: re.Match[str]) -> str:
        return add_per(match, SIGNS.get((match["sign"] or "").strip(), "") + say_amount(match))

    def say_thousands(match: re.Match[str]) -> str:
        currency = CURRENCIES["€"]
        return f"{numbers.integer(re.sub('[. ]', '', match['number']))} {currency.many}"

    def say_range(match: re.Match[str]) -> str:
        low, magnitude = numbers.number(match["low"]), match["low_magnitude"]
        if magnitude and magnitude.lower() != (match["magnitude"] or match["word"] or "").lower():
            low += f" {MAGNITUDES[magnitude.lower()]}"
        return add_per(match, f"{low} to {say_amount(match)}")

    def say_cents(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {'cent' if match['number'] == '1' else 'cents'}"

    def say_pence(match: re.Match[str]) -> str | None:
        """99p is a price; 720p is a picture."""
        return f"{numbers.integer(match['number'])} pence" if match["number"] not in _RESOLUTIONS else None

    def say_dollars(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {CURRENCIES[match['code']].many}"

    sign = r"(?<![\w.)~])(?P<sign>[-~][ ]?)?"
    end = r"(?![^\W_])"
    number = rf"(?P<number>{MEASURED})"
    return [
        Rule(
            rf"(?<!\w)(?P<currency>{symbol})[ ]?(?P<low>{NUMBER})(?P<low_magnitude>{_LETTERS})?[ ]?[-–][ ]?"
            rf"(?:{symbol})?(?P<number>{NUMBER}){_MAGNITUDE}{end}{_PER}",
            say_range,
        ),
        Rule(rf"(?<!\w)€[ ]?(?P<number>{_EURO})", say_thousands),
        Rule(rf"{NUMBER_START}(?P<number>{_EURO})[ ]?€", say_thousands),
        Rule(rf"(?<!\w)\$(?P<number>{NUMBER})[ ](?P<code>USD|CAD|AUD|NZD|SGD|HKD)(?!\w)", say_dollars),
        Rule(rf"{sign}(?P<currency>{symbol})[ ]?{number}{_MAGNITUDE}{end}{_PER}", say_money),
        Rule(rf"{sign}(?P<currency>{code})[ ]?{number}{_MAGNITUDE}{end}{_PER}", say_money),
        Rule(rf"{sign}{NUMBER_START}{number}{_MAGNITUDE}[ ]?(?P<currency>{symbol}|{code})(?!\w){_PER}", say_money),
        Rule(r"(?<=[€$£]\d)[.,]-(?!\w)|(?<=[€$£]\d\d)[.,]-(?!\w)|(?<=\d\d\d)[.,]-(?!\w)", ""),  # €15,-
        Rule(r"(?<=\d)[ ]?[x×][ ]?(?=[$£€]\d)", " times "),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})[ ]?¢", say_cents),
        Rule(rf"{NUMBER_START}(?P<number>[1-9]\d{{0,2}})p{end}", say_pence),
    ]
