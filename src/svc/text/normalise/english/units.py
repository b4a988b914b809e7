"""Quantities: numbers with units of measurement."""

import re

from svc.text.normalise.english.adjectives import FUNCTION_WORDS, is_adjective
from svc.text.normalise.english.numbers import MEASURED, NUMBER, SIGNS, Numbers, unify
from svc.text.normalise.english.unit_names import UNITS, name_unit, pluralise_unit
from svc.text.normalise.rules import Rule, any_of

# These are units only right after the number: not in "5 in total", "12 A", "3 bar".
ONLY_ATTACHED = frozenset({"in", "A", "F", "J", "N", "MP", "mo", "kn", "kt", "bar", "rad", "cal"})

# Below, 12F is rather a seat than a temperature.
LOWEST_FAHRENHEIT = 30

# These may have a full stop.
DOTTED = (
    r"(?:(?:sq|cu)\.?[ ](?:ft|in|mi|yd)|fl\. oz|km|cm|mm|kg|ft|in|lbs?|oz|yds?|mi|mins?|secs?|hrs?|yrs?|wks?|gal|"
    r"tsp|tbsp|qts?|pt)"
)

# How long ago, as social networks write it.
ELAPSED = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}

DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}

_NAME_AFTER = re.compile(r"\.?[ ][A-Z][a-z]")
_PLACE_BEFORE = re.compile(  # gate 14A
    r"\b(?:apartment|apt|bus|exit|fig|figure|flat|form|gate|grade|level|part|room|row|seat|section|suite|unit)\.?[ ]\Z",
    re.IGNORECASE,
)
_TYPE_AFTER = re.compile(r"[ ](?:font|text|type)\b")
_WORD_AFTER = re.compile(r"[ ](?P<word>[a-z]+)\b")
_OPERAND_AFTER = re.compile(r"[ ](?:\d|[b-z]\b)")
# Of more than one: 1 1/2, 2¾, 120/80.
_MIXED_NUMBER_BEFORE = re.compile(r"\d[ -]\d+/\d+\Z|\d[ ]?[½¼¾⅓⅔⅛⅜⅝⅞]\Z")
_OVER_BEFORE = re.compile(r"(?P<top>\d+)/(?P<bottom>\d+)\Z")


def _is_unit(written: str, match: re.Match[str]) -> bool:
    """Whether the letters after a number are a unit here."""
    dotted = match["unit"].endswith(".")
    if match["gap"] and not dotted and written in ONLY_ATTACHED:
        return False
    if len(written) == 1 and written.isupper() and _PLACE_BEFORE.search(match.string[: match.start()]):
        return False
    following = _WORD_AFTER.match(match.string, match.end())
    match written:
        case "s":
            return not (following and following["word"] == "of")  # 10s of thousands
        case "W":
            return not _NAME_AFTER.match(match.string, match.end())  # 20 W Main Street
        case "K":
            return match["gap"] == " " and (following is None or following["word"] in FUNCTION_WORDS)
        case "%":
            return not (match["gap"] and _OPERAND_AFTER.match(match.string, match.end()))  # 5 % 2
        case "F":
            return float(unify(match["number"])) >= LOWEST_FAHRENHEIT
    return True


def build_rules(numbers: Numbers) -> list[Rule]:
    names = any_of(UNITS)
    metric = "mm|cm|dm|km|m|ft|in|mi|yd"
    quantity = rf"(?<![^\W_])(?<!\d[.,:/])(?P<number>{NUMBER})"
    sign = r"(?:(?<![\w.)°%~])(?P<sign>[-+±~])[ ]?)?"

    def add_sign(match: re.Match[str], spoken: str) -> str:
        return SIGNS.get(match["sign"] or "", "") + spoken

    def say_quantity(match: re.Match[str]) -> str | None:
        written = match["unit"].rstrip(".").replace("^", "")
        if not _is_unit(written, match):
            return None
        is_pint = written == "pt" and match["gap"] == " " and not _TYPE_AFTER.match(match.string, match.end())
        name = "pint" if is_pint else name_unit(written)
        number = match["number"]
        if match["gap"] == "-":
            return add_sign(match, f"{numbers.number(number)} {name}")
        low = f"{numbers.number(match['low'])} to " if match["low"] else ""
        one = (number == "1" and not low) or is_adjective(match)
        return add_sign(match, f"{low}{numbers.number(number)} {name if one else pluralise_unit(name)}")

    def say_height(match: re.Match[str]) -> str:
        inches = f" {numbers.number(match['inches'])}" if match["inches"] else ""
        return f"{numbers.number(match['number'])} {'foot' if inches else 'feet'}{inches}"

    def say_inches(match: re.Match[str]) -> str:
        one = match["number"] == "1" or is_adjective(match)
        return f"{numbers.number(match['number'])} {'inch' if one else 'inches'}"

    def say_duration(match: re.Match[str]) -> str:
        return say_each([("hour", match["h"]), ("minute", match["m"]), ("second", match["s"])], is_adjective(match))

    def say_each(parts: list[tuple[str, str | None]], adjective: bool) -> str:
        return " ".join(
            f"{numbers.number(count)} {name if count == '1' or adjective else pluralise_unit(name)}"
            for name, count in parts
            if count
        )

    def say_unit_of_fraction(match: re.Match[str]) -> str | None:
        """Half an inch, but one and a half inches."""
        written = match["unit"].rstrip(".")
        if match["gap"] and not match["unit"].endswith(".") and written in ONLY_ATTACHED:
            return None
        before = match.string[max(0, match.start() - 12) : match.start()]
        over = _OVER_BEFORE.search(before)
        many = _MIXED_NUMBER_BEFORE.search(before) or (over and int(over["top"]) > int(over["bottom"]))
        name = {"pt": "pint", '"': "inch"}.get(written) or name_unit(written)
        return " " + (pluralise_unit(name) if many and not is_adjective(match) else name)

    def say_angle(match: re.Match[str]) -> str:
        parts = [("degree", match["number"]), ("minute", match["minutes"]), ("second", match["seconds"])]
        direction = DIRECTIONS.get(match["direction"] or "", "")
        return add_sign(match, f"{say_each(parts, is_adjective(match))} {direction}".rstrip())

    return [
        Rule(rf"{quantity}'(?:[ ]?(?P<inches>\d{{1,2}}(?:\.5)?)\")(?!\w)", say_height),
        Rule(rf"{quantity}'(?:[ ]?(?P<inches>\d{{1,2}}))(?![\w'])", say_height),
        Rule(rf"{quantity}'(?P<inches>(?!))?(?=[ ](?:tall|long|wide|high|deep|by|x)\b)", say_height),
        Rule(
            rf"{sign}{quantity}[ ]?°[ ]?(?:(?P<minutes>\d{{1,2}})'[ ]?)?(?:(?P<seconds>\d{{1,2}}(?:\.\d+)?)\"[ ]?)?"
            r"(?P<direction>[NSEW])?(?![^\W_])(?!\d)(?![ ]?[CF]\b)",
            say_angle,
        ),
        Rule(
            r"(?<![^\W_])(?P<h>\d{1,3})[ ]?h(?:rs?)?[ ]?(?P<m>\d{1,2})[ ]?m(?:ins?)?"
            r"(?:[ ]?(?P<s>\d{1,2})[ ]?s(?:ecs?)?)?(?!\w)",
            say_duration,
        ),
        Rule(
            r"(?<![^\W_])(?P<h>(?!))?(?P<m>\d{1,3})[ ]?m(?:in)?[ ]?(?P<s>\d{1,2})[ ]?s(?:ec)?(?!\w)",
            say_duration,
        ),
        Rule(
            r"(?<![^\W_])(?P<number>\d{1,3})(?P<unit>s|m|h|d|w|mo|y)(?=[ ](?:ago|later|left)\b)",
            lambda match: say_each([(ELAPSED[match["unit"]], match["number"])], adjective=False),
        ),
        Rule(
            rf"{sign}(?<![^\W_])(?<!\d[.,:/])(?:(?P<low>{NUMBER})[ ]?%?(?:[-–]|[ ]to[ ]))?"
            rf"(?<!\d[.,:])(?P<number>{MEASURED})(?P<gap>[ -]?)"
            rf"(?P<unit>{DOTTED}\.(?=\W|$)|(?:(?:{metric})[²³]|(?:{metric})\^?[23](?!\d)|{names})"
            rf"(?:/(?:{names}|year|day|month|week|person)[²³]?)?(?![^\W_])(?!'\w))",
            say_quantity,
        ),
        Rule(
            r"(?<=[\dkKMB%+])/(?P<unit>month|mo|year|yr|day|week|wk|hour|hr|min|sec|person|user|night|unit)\b",
            lambda match: f" per {UNITS.get(match['unit'], match['unit'])}",
        ),
        Rule(rf"{quantity}\"(?!\w)", say_inches),
        Rule(
            r"(?:(?<=/\d)|(?<=/\d\d)|(?<=[½¼¾⅓⅔⅛⅜⅝⅞]))(?P<gap>[ -]?)"
            rf"(?P<unit>{DOTTED}\.(?=\W|$)|\"(?!\w)|(?:{names})(?![^\W_]|'\w))",
            say_unit_of_fraction,
        ),
        Rule(
            r"(?:(?<=\d[\"'])|(?<=[\d ][cm]m)|(?<=\d[ ]m)|(?<=[\d ]ft)|(?<=[\d ]in))[ ]?[x×][ ]?(?=\d)",
            " by ",
        ),
    ]
