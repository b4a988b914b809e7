"""Times of day."""

import re

from svc.text.normalise.english.numbers import SMALL, Numbers
from svc.text.normalise.rules import Rule, rule

_HALF = r"[ ]?(?P<half>[aApP])(?:\.[ ]?[mM]\.|[mM]\b\.?(?=\W|$))"
_TO = r"[ ]?(?:[-–—]|to|until|till)[ ]?"


def rules(numbers: Numbers) -> list[Rule]:
    def clock(hour: str, minute: str | None, *, half: bool) -> str:
        hours, minutes = int(hour), int(minute or 0)
        spoken = numbers.cardinal(hours)
        if minutes >= 10:
            return f"{spoken} {numbers.cardinal(minutes)}"
        if minutes:
            return f"{spoken} oh {SMALL[minutes]}"
        if half or minute is None:
            return spoken
        return f"{spoken} o'clock" if 1 <= hours <= 12 else f"{spoken} hundred"

    def halves(match: re.Match[str], group: str) -> str:
        letter = match[group]
        return f" {letter.lower()}.m." if letter else ""

    def read(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["minute"]) > 59:
            return None
        spoken = clock(match["hour"], match["minute"], half=bool(match["half"]))
        if int(match["second"] or 0):
            spoken += f" and {numbers.cardinal(int(match['second']))} seconds"
        return spoken + halves(match, "half") + (" UTC" if match["zulu"] else "")

    def read_hour(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 12:
            return None
        return numbers.cardinal(int(match["hour"])) + halves(match, "half")

    def read_range(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["to_hour"]) > 24:
            return None
        half = bool(match["half"])
        first = clock(match["hour"], match["minute"], half=half) + halves(match, "first_half")
        return f"{first} to {clock(match['to_hour'], match['to_minute'], half=half)}{halves(match, 'half')}"

    hour = r"(?:(?<![^\W_])(?<![.,:/\d-])|(?<=\dT))(?P<hour>\d{1,2})"  # the T of 2024-01-05T15:30
    minute = r"[:.](?P<minute>[0-5]\d)"
    first_half = r"(?:[ ]?(?P<first_half>[aApP])\.?[mM]\.?)?"
    to_hour = r"(?P<to_hour>\d{1,2})(?:[:.](?P<to_minute>[0-5]\d))?"
    return [
        rule(rf"{hour}(?:{minute})?{first_half}{_TO}{to_hour}{_HALF}", read_range),
        rule(
            rf"{hour}:(?P<minute>[0-5]\d){first_half}{_TO}{to_hour}(?![\d:.]\d)(?P<half>(?!))?(?!\w)",
            read_range,
        ),
        rule(
            rf"{hour}:(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d+)?)?(?P<zulu>Z)?(?:{_HALF})?(?![\d:])(?![^\W_])",
            read,
        ),
        rule(rf"{hour}\.(?P<minute>[0-5]\d)(?P<second>(?!))?(?P<zulu>(?!))?{_HALF}", read),
        rule(rf"{hour}{_HALF}", read_hour),
        rule(r"(?<![^\W_])(?P<half>[ap])\.[ ]m\.", lambda match: halves(match, "half").strip()),
    ]
