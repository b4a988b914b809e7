"""Times of day."""

import re

from svc.text.normalise.english.numbers import SMALL, Numbers
from svc.text.normalise.rules import Rule, after

_AM_PM = r"[ ]?(?P<am_pm>[aApP])(?:\.[ ]?[mM]\.|[mM]\b\.?(?=\W|$))"
_TO = r"[ ]?(?:[-–—]|to|until|till)[ ]?"


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_clock(hour: str, minute: str | None, *, am_pm: bool) -> str:
        hours, minutes = int(hour), int(minute or 0)
        spoken = numbers.cardinal(hours)
        if minutes >= 10:
            return f"{spoken} {numbers.cardinal(minutes)}"
        if minutes:
            return f"{spoken} oh {SMALL[minutes]}"
        if am_pm or minute is None:
            return spoken
        return f"{spoken} o'clock" if 1 <= hours <= 12 else f"{spoken} hundred"

    def say_am_or_pm(match: re.Match[str], group: str) -> str:
        letter = match[group]
        return f" {letter.lower()}.m." if letter else ""

    def say_time(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["minute"]) > 59:
            return None
        spoken = say_clock(match["hour"], match["minute"], am_pm=bool(match["am_pm"]))
        if int(match["second"] or 0):
            spoken += f" and {numbers.cardinal(int(match['second']))} seconds"
        return spoken + say_am_or_pm(match, "am_pm") + (" UTC" if match["zulu"] else "")

    def say_hour(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 12:
            return None
        return numbers.cardinal(int(match["hour"])) + say_am_or_pm(match, "am_pm")

    def say_time_range(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["to_hour"]) > 24:
            return None
        am_pm = bool(match["am_pm"])
        first = say_clock(match["hour"], match["minute"], am_pm=am_pm) + say_am_or_pm(match, "first_am_pm")
        return (
            f"{first} to {say_clock(match['to_hour'], match['to_minute'], am_pm=am_pm)}{say_am_or_pm(match, 'am_pm')}"
        )

    def say_military(digits: str) -> str:
        """0630 is "zero six thirty", 1400 "fourteen hundred"."""
        minutes = int(digits[2:])
        hours = numbers.digits(digits[:2]) if digits[0] == "0" else numbers.cardinal(int(digits[:2]))
        if minutes == 0:
            return f"{hours} hundred"
        return f"{hours} {'oh ' if minutes < 10 else ''}{numbers.cardinal(minutes)}"

    def say_military_time(match: re.Match[str]) -> str:
        return say_military(match["time"])

    def say_military_range(match: re.Match[str]) -> str:
        return f"{say_military(match['from'])} to {say_military(match['to'])}"

    def say_offset(match: re.Match[str]) -> str:
        sign = "plus" if match["sign"] == "+" else "minus"
        minute = int(match["minute"] or 0)
        return f"{match['zone']} {sign} {say_clock(match['hour'], str(minute) if minute else None, am_pm=True)}"

    def say_short_range(match: re.Match[str]) -> str:
        first = say_clock(match["hour"], match["minute"], am_pm=True)
        last = say_clock(match["to_hour"], match["to_minute"], am_pm=True)
        return f"{first} {match['half']}.m. to {last} {match['to_half']}.m."

    hour = r"(?:(?<![^\W_])(?<![.,:/\d-])|(?<=\dT))(?P<hour>\d{1,2})"  # the T of 2024-01-05T15:30
    minute = r"[:.](?P<minute>[0-5]\d)"
    first_am_pm = r"(?:[ ]?(?P<first_am_pm>[aApP])\.?[mM]\.?)?"
    to_hour = r"(?P<to_hour>\d{1,2})(?:[:.](?P<to_minute>[0-5]\d))?"
    return [
        Rule(rf"{hour}(?:{minute})?(?P<half>[ap])[-–]{to_hour}(?P<to_half>[ap])(?![^\W_])", say_short_range),
        Rule(rf"{hour}(?:{minute})?{first_am_pm}{_TO}{to_hour}{_AM_PM}", say_time_range),
        Rule(
            rf"{hour}:(?P<minute>[0-5]\d){first_am_pm}{_TO}{to_hour}(?![\d:.]\d)(?P<am_pm>(?!))?(?!\w)",
            say_time_range,
        ),
        Rule(
            rf"{hour}:(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d+)?)?(?P<zulu>Z)?(?:{_AM_PM})?(?![\d:])(?![^\W_])",
            say_time,
        ),
        Rule(rf"{hour}\.(?P<minute>[0-5]\d)(?P<second>(?!))?(?P<zulu>(?!))?{_AM_PM}", say_time),
        Rule(
            rf"{hour}{minute}(?P<half>[ap])(?![^\W_])",
            lambda match: f"{say_clock(match['hour'], match['minute'], am_pm=True)} {match['half']}.m.",
        ),
        Rule(rf"{hour}{_AM_PM}", say_hour),
        Rule(rf"{hour}h(?P<minute>[0-5]\d)(?P<second>(?!))?(?P<zulu>(?!))?(?P<am_pm>(?!))?(?![^\W_])", say_time),
        Rule(
            r"(?<![\w.,:-])(?P<time>[0-2]\d[0-5]\d)[ ]?(?:hours|hrs|h)\b",
            lambda match: f"{say_military_time(match)} hours",
        ),
        Rule(
            r"(?<![\w.,:-])(?P<from>0\d[0-5]\d)(?:[ ]?[-–][ ]?|[ ](?:to|until|till)[ ])(?P<to>[0-2]\d[0-5]\d)"
            r"(?![\w,.-]*\d)",
            say_military_range,
        ),
        Rule(
            rf"{after('at', 'At', 'by', 'until', 'from')}(?P<time>0\d[0-5]\d)(?![\w,.-]*\d)(?![^\W_])",
            say_military_time,
        ),
        Rule(
            r"\b(?P<zone>UTC|GMT)[ ]?(?P<sign>[+-])(?P<hour>\d{1,2})(?::?(?P<minute>[0-5]\d))?(?![^\W_])",
            say_offset,
        ),
        Rule(
            r"(?<=:\d\d)(?P<zone>)(?P<sign>[+-])(?P<hour>\d\d):?(?P<minute>[0-5]\d)(?![\d:])",
            lambda match: f" UTC{say_offset(match)}",
        ),
        Rule(r"\b(?P<word>[Nn]oon|[Mm]idnight)[ ]?[-–][ ]?(?=\d)", lambda match: f"{match['word']} to "),
        Rule(r"(?<=[\dmM])[ ]?[-–][ ]?(?=(?:noon|midnight)\b)", " to "),
        Rule(r"\bT-(?=\d{1,3}\b(?:[ ](?:min|sec|hour|day|week|month)|[:.!]|$))", "T minus "),
        Rule(r"(?<![^\W_])M[ ]?[-–][ ]?F(?![^\W_])", "Monday to Friday"),
        Rule(r"(?<![^\W_])(?P<am_pm>[ap])\.[ ]m\.", lambda match: say_am_or_pm(match, "am_pm").strip()),
    ]
