"""Telephone numbers and other numbers that are read digit by digit, with a pause between the groups."""

import re

from svc.text.normalise.english.numbers import NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, after, rule

_GROUP = re.compile(r"\+|\d+|[A-Z]+")


# The digits of a secret or a number to dial matter one by one.
ANNOUNCED = (
    "account",
    "code",
    "Code",
    "ID",
    "OTP",
    "passcode",
    "password",
    "PIN",
    "pin",
    "serial",
    "tracking",
    "ticket",
)
LINKS = ("", ":", " is", " is:", " number", " number:", " number is")
DIALLED = ("Call", "call", "dial", "Dial", "Text", "text")


def phone_rules(numbers: Numbers) -> list[Rule]:
    def digits(match: re.Match[str]) -> str:
        return numbers.digits(match[0])

    def groups(match: re.Match[str]) -> str:
        spoken = [_say(group, numbers) for group in _GROUP.findall(match[0])]
        return ", ".join(spoken).replace("plus, ", "plus ")

    announced = after(*(word + link for word in ANNOUNCED for link in LINKS))
    start = r"(?<![^\W_])(?<![\d][.,-])"
    end = r"(?![^\W_]|[.,-]\d)"
    return [
        rule(rf"{announced}\d{{3,12}}{end}", digits),
        rule(rf"{start}(?:\+?1[-. ]?)?\(\d{{3}}\)[ ]?\d{{3}}[-. ]\d{{4}}{end}", groups),
        rule(rf"{start}(?:\+?1[-. ])?\d{{3}}([-. ])\d{{3}}\1\d{{4}}{end}", groups),
        rule(rf"{start}(?:1-)?8\d\d-[A-Z\d]{{3,8}}(?:-[A-Z\d]{{4}})?{end}", groups),
        rule(rf"(?<![\w+])\+\d{{1,3}}(?:[-. ]?\(?\d{{1,5}}\)?){{2,6}}{end}", groups),
        rule(rf"{start}0\d{{2,4}}[- ]\d{{3,4}}(?:[- ]\d{{3,4}})?{end}", groups),
        rule(rf"{start}\d{{3}}-\d{{2}}-\d{{4}}{end}", groups),
        rule(rf"{start}\d{{4}}([- ])\d{{4}}\1\d{{4}}\1\d{{4}}{end}", groups),
        rule(rf"{start}\d{{3}}-\d{{4}}{end}", groups),
        rule(rf"{start}\d{{1,9}}(?:-\d{{1,9}}){{2,12}}{end}", groups),
        rule(r"(?<=, [A-Z][A-Z][ ])\d{5}(?:-\d{4})?(?!\d)", groups),  # after the state, a ZIP code
        rule(rf"{after(*DIALLED)}\d{{3,6}}{end}(?![ -]\d|[ ](?:people|times|more|friends|of)\b)", digits),
    ]


def _say(group: str, numbers: Numbers) -> str:
    if group == "+":
        return "plus"
    if group.isdecimal():
        return numbers.digits(group)
    return group.capitalize() if len(group) > 3 else " ".join(group)


# "Python 3.11" is no decimal: three point eleven.
VERSIONED = (
    "Android", "Chrome", "Debian", "Django", "Fedora", "Firefox", "Go", "Java", "Linux", "Node", "PHP",
    "Postgres", "PostgreSQL", "Python", "Ruby", "Rust", "Safari", "TypeScript", "Ubuntu", "Version", "iOS",
    "macOS", "release", "version",
)  # fmt: skip


def version_rules(numbers: Numbers) -> list[Rule]:
    def version(match: re.Match[str]) -> str:
        parts = match["version"].split(".")
        sign = " dot " if len(parts) == 4 else " point "  # four parts are an address
        return ("version " if match["v"] else "") + sign.join(numbers.whole(part) for part in parts)

    return [
        rule(r"(?<![^\W_])(?P<v>v)\.?[ ]?(?P<version>\d{1,5}(?:\.\d{1,5}){0,5})(?![^\W_]|\.\d)", version),
        rule(rf"{NUMBER_START}(?P<v>(?!))?(?P<version>\d{{1,5}}(?:\.\d{{1,5}}){{2,5}})(?!\d|\.\d)", version),
        rule(rf"{after(*VERSIONED)}(?P<v>(?!))?(?P<version>\d{{1,3}}\.\d{{1,2}})(?!\d|\.\d)", version),
    ]
