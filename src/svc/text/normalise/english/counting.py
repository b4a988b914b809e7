"""Numbers in text: ordinals, ranges, magnitudes, numbers that name something, and all that no other rule has read."""

import re

from svc.text.normalise.english.numbers import (
    DECIMAL_COMMA,
    EUROPEAN,
    GROUPED,
    MOST_DIGITS,
    NUMBER,
    NUMBER_START,
    SIGNED,
    Numbers,
)
from svc.text.normalise.rules import Rule, after

# Their numbers are spoken in pairs of digits: "Boeing seven forty-seven", "room one oh one".
NAMED_BY_NUMBER = (
    "AA", "Airbus", "Apartment", "Area", "Boeing", "Box", "Bus", "bus", "GTX", "RTX", "UA", "Exit", "exit", "Flight",
    "flight", "Gate", "Highway", "highway", "Hwy", "Interstate", "Porsche", "Rm", "Rm.", "Route", "route", "Room",
    "room", "Suite", "Ste", "Ste.", "Unit", "Xbox",
)  # fmt: skip

TENS_OF = {"10": "tens", "100": "hundreds", "1000": "thousands"}


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_ordinal(match: re.Match[str]) -> str | None:
        digits = match["number"].replace(",", "")
        return numbers.ordinal(int(digits)) if len(digits) <= MOST_DIGITS else None

    def say_ordinal_range(match: re.Match[str]) -> str:
        return f"{numbers.ordinal(int(match['low']))} to {numbers.ordinal(int(match['high']))}"

    def say_code(match: re.Match[str]) -> str:
        return numbers.code(match["number"])

    def say_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {numbers.number(match['high'])}"

    def say_times(match: re.Match[str]) -> str:
        return f"{numbers.signed(match)} times"

    def say_plus(match: re.Match[str]) -> str:
        return f"{numbers.signed(match)} plus"

    counted = r"(?=[ ](?:million|billion|percent|times|degrees|(?:kilo|centi|milli)?(?:meters|liters|grams)|hours)\b)"
    return [
        Rule(
            rf"{NUMBER_START}(?P<low>\d{{1,4}})(?:st|nd|rd|th)[-–](?P<high>\d{{1,4}})(?:st|nd|rd|th)\b",
            say_ordinal_range,
        ),
        Rule(rf"{NUMBER_START}(?P<number>\d{{1,3}}(?:,\d{{3}})+|\d+)(?:st|nd|rd|th)\b", say_ordinal, re.IGNORECASE),
        Rule(rf"{after(*NAMED_BY_NUMBER)}(?P<number>\d{{3,4}})(?![\d.,]\d|\d)(?![^\W_])", say_code),
        Rule(rf"{NUMBER_START}(?P<low>{NUMBER})(?:[-–—]|[ ][–—][ ])(?P<high>{NUMBER})(?![\d-])(?![^\W_])", say_range),
        Rule(
            rf"{after('ISO', 'IEC', 'EN', 'DIN')}(?P<number>\d{{3,5}}):(?P<year>[12]\d{{3}})(?!\d)",
            lambda match: f"{numbers.number(match['number'])} {numbers.year(int(match['year']))}",
        ),
        # A score: "Leeds 2 - 1 Derby".
        Rule(r"(?<=[a-z][ ])(?P<low>\d{1,3})[ ]-[ ](?P<high>\d{1,3})(?=[ ][A-Z][a-z])", say_range),
        Rule(
            r"(?<![^\W_])(?P<number>100?|1,?000)s(?=[ ]of\b)", lambda match: TENS_OF[match["number"].replace(",", "")]
        ),
        Rule(rf"{SIGNED}[xX](?![^\W_]|[ ]?[-+=*/^×)])", say_times),
        Rule(rf"{SIGNED}\+(?![^\s.,;:!?)])", say_plus),
        Rule(
            rf"{NUMBER_START}(?P<sign>(?!))?(?P<number>{GROUPED}|{EUROPEAN}|{DECIMAL_COMMA}{counted})", numbers.signed
        ),
        Rule(rf"{SIGNED}(?![^\W\d_])", numbers.signed),
        Rule(r"(?<![\w.])(?P<sign>-)?(?P<number>\.\d+)(?![^\W_])", numbers.signed),
        Rule(r"(?P<number>\d+)(?P<sign>(?!))?", lambda match: f"{numbers.integer(match['number'])} "),
    ]
