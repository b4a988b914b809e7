"""Phone numbers and other numbers that are spoken digit by digit; software versions and IP addresses."""

import re

from svc.text.normalise.english.numbers import NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, after

_GROUP = re.compile(r"\+|\d+|[A-Z]+")

# A number after one of these words is spoken digit by digit.
BEFORE_CODES = (
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
BEFORE_DIALLED = ("Call", "call", "dial", "Dial", "Text", "text")


def build_phone_rules(numbers: Numbers) -> list[Rule]:
    def say_digits(match: re.Match[str]) -> str:
        return numbers.digits(match[0])

    def say_groups(match: re.Match[str]) -> str:
        spoken = [_say_group(group, numbers) for group in _GROUP.findall(match[0])]
        return ", ".join(spoken).replace("plus, ", "plus ")

    code_start = after(*(word + link for word in BEFORE_CODES for link in LINKS))
    start = r"(?<![^\W_])(?<![\d][.,-])"
    end = r"(?![^\W_]|[.,-]\d)"
    return [
        Rule(rf"{code_start}\d{{3,12}}{end}", say_digits),
        Rule(rf"{start}(?:\+?1[-. ]?)?\(\d{{3}}\)[ ]?\d{{3}}[-. ]\d{{4}}{end}", say_groups),
        Rule(rf"{start}(?:\+?1[-. ])?\d{{3}}([-. ])\d{{3}}\1\d{{4}}{end}", say_groups),
        Rule(rf"{start}(?:1-)?8\d\d-[A-Z\d]{{3,8}}(?:-[A-Z\d]{{4}})?{end}", say_groups),
        Rule(rf"(?<![\w+])\+\d{{1,3}}(?:[-. ]?\(?\d{{1,5}}\)?){{2,6}}{end}", say_groups),
        Rule(rf"{start}0\d{{2,4}}[- ]\d{{3,4}}(?:[- ]\d{{3,4}})?{end}", say_groups),
        Rule(rf"{start}\d{{3}}-\d{{2}}-\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{4}}([- ])\d{{4}}\1\d{{4}}\1\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{3}}-\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{1,9}}(?:-\d{{1,9}}){{2,12}}{end}", say_groups),
        Rule(r"(?<=, [A-Z][A-Z][ ])\d{5}(?:-\d{4})?(?!\d)", say_groups),  # after the state, a ZIP code
        Rule(rf"{after(*BEFORE_DIALLED)}\d{{3,6}}{end}(?![ -]\d|[ ](?:people|times|more|friends|of)\b)", say_digits),
    ]


def _say_group(group: str, numbers: Numbers) -> str:
    if group == "+":
        return "plus"
    if group.isdecimal():
        return numbers.digits(group)
    return group.capitalize() if len(group) > 3 else " ".join(group)


# A number after one of these is a version, not a decimal: "Python three point eleven".
VERSIONED = (
    "Android", "Chrome", "Debian", "Django", "Fedora", "Firefox", "Go", "Java", "Linux", "Node", "PHP",
    "Postgres", "PostgreSQL", "Python", "Ruby", "Rust", "Safari", "TypeScript", "Ubuntu", "Version", "iOS",
    "macOS", "release", "version",
)  # fmt: skip


def build_version_rules(numbers: Numbers) -> list[Rule]:
    def say_version(match: re.Match[str]) -> str:
        parts = match["version"].split(".")
        sign = " dot " if len(parts) == 4 else " point "  # four parts are an IP address
        return ("version " if match["v"] else "") + sign.join(numbers.integer(part) for part in parts)

    return [
        Rule(r"(?<![^\W_])(?P<v>v)\.?[ ]?(?P<version>\d{1,5}(?:\.\d{1,5}){0,5})(?![^\W_]|\.\d)", say_version),
        Rule(rf"{NUMBER_START}(?P<v>(?!))?(?P<version>\d{{1,5}}(?:\.\d{{1,5}}){{2,5}})(?!\d|\.\d)", say_version),
        Rule(rf"{after(*VERSIONED)}(?P<v>(?!))?(?P<version>\d{{1,3}}\.\d{{1,2}})(?!\d|\.\d)", say_version),
    ]
