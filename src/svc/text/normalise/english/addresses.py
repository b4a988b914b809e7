"""Postal addresses: streets, directions, house numbers, states and provinces."""

import re

from svc.text.normalise.english.numbers import NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, any_of, behind

# After a name, with or without a full stop.
STREETS = {
    "Ave": "Avenue", "Blvd": "Boulevard", "Cir": "Circle", "Cres": "Crescent", "Expy": "Expressway",
    "Fwy": "Freeway", "Hwy": "Highway", "Ln": "Lane", "Pkwy": "Parkway", "Pl": "Place", "Plz": "Plaza",
    "Rd": "Road", "Sq": "Square", "Ter": "Terrace", "Terr": "Terrace", "Tpke": "Turnpike",
}  # fmt: skip

# Hwy 61, Ave. of the Stars
ALSO_BEFORE_NAMES = frozenset({"Ave", "Blvd", "Hwy", "Pkwy"})

# One meaning before a name and another after it.
TITLE_OR_STREET = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street"), "Ct": ("Court", "Court")}

DIRECTIONS = {
    "N": "North", "S": "South", "E": "East", "W": "West", "NE": "Northeast", "NW": "Northwest",
    "SE": "Southeast", "SW": "Southwest",
}  # fmt: skip

STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DE": "Delaware", "FL": "Florida", "GA": "Georgia", "HI": "Hawaii", "ID": "Idaho",
    "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana",
    "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada",
    "NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina",
    "ND": "North Dakota", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania",
    "RI": "Rhode Island", "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas",
    "UT": "Utah", "VT": "Vermont", "VA": "Virginia", "WA": "Washington", "WV": "West Virginia",
    "WI": "Wisconsin", "WY": "Wyoming", "DC": "D.C", "ON": "Ontario", "QC": "Quebec", "BC": "British Columbia",
    "AB": "Alberta", "MB": "Manitoba", "SK": "Saskatchewan", "NS": "Nova Scotia", "NB": "New Brunswick",
}  # fmt: skip

# Also words in capitals: a state only before a postal code, or after a city that does not begin the text.
WORDS_IN_CAPITALS = frozenset({"HI", "IN", "ME", "OH", "OK", "ON", "OR"})

_STREET = rf"(?:{any_of([*STREETS, *STREETS.values(), *TITLE_OR_STREET, 'Street', 'Drive', 'Way', 'Row'])})"
_NAMES = r"(?:(?:[A-Z][\w']+|\d{1,3}(?:st|nd|rd|th))[ ]){1,3}"
_NAME_BEFORE = re.compile(r"(?:[A-Z][\w']+|\d(?:st|nd|rd|th))[ ]\Z")
_NAME_AFTER = re.compile(r"[ ][A-Z]")
_DIRECTION_AFTER = re.compile(r"[ ](?:[NSEW]|[NS][EW])\b")
_CITY_BEFORE = re.compile(r"(?P<before>\S[ ])?(?:[A-Z][\w'.]+[ ]){0,3}[A-Z][\w'.]+,[ ]\Z")
_POSTAL_CODE = re.compile(r"[ ](?:\d{5}|[A-Z]\d[A-Z])")


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_title_or_street(match: re.Match[str]) -> str:
        title, street = TITLE_OR_STREET[match["word"]]
        after_name = _NAME_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        is_direction = _DIRECTION_AFTER.match(match.string, match.end())
        before_name = _NAME_AFTER.match(match.string, match.end()) and not is_direction
        return street if after_name and not before_name else title

    def say_street(match: re.Match[str]) -> str | None:
        after_name = _NAME_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        return STREETS[match["word"]] if after_name or match["word"] in ALSO_BEFORE_NAMES else None

    def say_house(match: re.Match[str]) -> str:
        letter = f" {match['letter']}" if match["letter"] else ""
        return numbers.code(match["number"]) + letter

    def say_direction(match: re.Match[str]) -> str:
        return DIRECTIONS[match["direction"]]

    def say_road(match: re.Match[str]) -> str:
        return f"{match['road']} {numbers.code(match['number'])} {say_direction(match)}"

    def say_state(match: re.Match[str]) -> str | None:
        city = _CITY_BEFORE.search(match.string, max(0, match.start() - 60), match.start())
        is_sure = match["word"] not in WORDS_IN_CAPITALS or (city and city["before"])
        return STATES[match["word"]] if city and (is_sure or _POSTAL_CODE.match(match.string, match.end())) else None

    start = r"(?<![^\W_])(?<![^\W_][.'-])"
    direction = rf"(?P<direction>{any_of(DIRECTIONS)})"
    return [
        Rule(
            rf"{NUMBER_START}(?P<number>\d{{3,4}})(?P<letter>[A-Z])?"
            rf"(?=[ ](?:(?:{any_of(DIRECTIONS)})\.?[ ])?{_NAMES}{_STREET}\b)",
            say_house,
        ),
        Rule(
            r"\b(?P<road>I|US|SR|Route|Rte|Highway|Interstate)[- ](?P<number>\d{1,3})[ ](?P<direction>[NSEW])\b"
            r"(?:\.(?=[ ][a-z]))?",
            say_road,
        ),
        Rule(rf"(?:(?<=\d[ ]){direction}\.?)(?=[ ]{_NAMES}{_STREET}\b)", say_direction),
        Rule(rf"{start}(?P<direction>[NSEW])\.(?=[ ]{_NAMES}{_STREET}\b)", say_direction),
        Rule(
            rf"{behind(*STREETS, *(f'{name}.' for name in STREETS), 'St', 'St.', 'Street', first='[NSEW]')}"
            r"(?P<direction>[NSEW])(?:\.|(?=,|$))(?![^\W_])",
            say_direction,
        ),
        Rule(rf"{start}(?P<word>{any_of(TITLE_OR_STREET)})(?:\.|(?=[ ][A-Z]|[ ]?,|$))", say_title_or_street),
        Rule(
            rf"{start}(?P<word>{any_of(STREETS)})(?:\.(?![^\W_])|(?![\w'.-]))",
            say_street,
        ),
        Rule(rf"(?<=[a-z.],[ ])(?P<word>{any_of(STATES)})(?![\w'-])", say_state),
    ]
