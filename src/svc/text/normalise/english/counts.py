"""Plain numbers: ordinals, ranges, and whatever digits no other rule wanted."""

import re

from svc.text.normalise.english.money import MAGNITUDES
from svc.text.normalise.english.numbers import MOST_DIGITS, NUMBER, NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, after, rule

# The numbers of these are said in twos: "Boeing seven forty-seven", "room one oh one".
NAMED_BY_NUMBER = (
    "AA", "Airbus", "Apartment", "Area", "Boeing", "Bus", "GTX", "RTX", "UA", "Flight", "flight", "Highway",
    "highway", "Interstate", "Porsche", "Route", "route", "Room", "room", "Suite", "Unit",
)  # fmt: skip

# After the name of one of these, a number before it is that of a house: "twelve fifty Oak Street".
STREETS = (
    "St|Street|Ave|Avenue|Rd|Road|Blvd|Boulevard|Dr|Drive|Ln|Lane|Ct|Court|Way|Place|Pl|Square|Highway|Hwy|Parkway"
)

SIGNS = {"-": "minus ", "+": "plus ", "~": "about ", "#": "number "}


def rules(numbers: Numbers) -> list[Rule]:
    def ordinal(match: re.Match[str]) -> str | None:
        digits = match["number"].replace(",", "")
        return numbers.ordinal(int(digits)) if len(digits) <= MOST_DIGITS else None

    def ordinal_range(match: re.Match[str]) -> str:
        return f"{numbers.ordinal(int(match['low']))} to {numbers.ordinal(int(match['high']))}"

    def code(match: re.Match[str]) -> str:
        return numbers.code(match["number"])

    def number_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {numbers.number(match['high'])}"

    def counted(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {MAGNITUDES[match['magnitude'].lower()]}"

    def times(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} times"

    def number(match: re.Match[str]) -> str:
        return SIGNS.get(match["sign"] or "", "") + numbers.number(match["number"])

    def plus(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} plus"

    return [
        rule(
            rf"{NUMBER_START}(?P<low>\d{{1,4}})(?:st|nd|rd|th)[-–](?P<high>\d{{1,4}})(?:st|nd|rd|th)\b", ordinal_range
        ),
        rule(rf"{NUMBER_START}(?P<number>\d{{1,3}}(?:,\d{{3}})+|\d+)(?:st|nd|rd|th)\b", ordinal, re.IGNORECASE),
        rule(
            rf"{after(*NAMED_BY_NUMBER)}(?P<number>\d{{3,4}})(?![\d.,]\d|\d)(?![^\W_])",
            code,
        ),
        rule(
            rf"{NUMBER_START}(?P<low>{NUMBER})(?:[-–—]|[ ][–—][ ])(?P<high>{NUMBER})(?![\d-])(?![^\W_])", number_range
        ),
        rule(
            rf"{NUMBER_START}(?P<number>\d{{3,4}})(?=[ ](?:[NSEW]\.?[ ])?(?:[A-Z][\w']+[ ]){{1,3}}(?:{STREETS})\b)",
            code,
        ),
        rule(rf"{NUMBER_START}(?P<number>{NUMBER})(?P<magnitude>M|bn|mn|(?<=\.\d)B)(?![^\W_])", counted),
        rule(rf"{NUMBER_START}(?P<number>{NUMBER})[xX](?![^\W_]|[ ]?[-+=*/^×)])", times),
        rule(rf"{NUMBER_START}(?P<number>{NUMBER})\+(?![^\s.,;:!?)])", plus),
        rule(rf"(?:(?<![\w.)°%/])(?P<sign>[-+~#])[ ]?)?{NUMBER_START}(?P<number>{NUMBER})(?![^\W\d_])", number),
        rule(r"(?<![\w.])(?P<sign>-)?(?P<number>\.\d+)(?![^\W_])", number),
        rule(r"(?P<number>\d+)(?P<sign>(?!))?", lambda match: f"{numbers.whole(match['number'])} "),
    ]
