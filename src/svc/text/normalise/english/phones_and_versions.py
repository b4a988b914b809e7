"""Phone numbers and other numbers that are spoken digit by digit; software versions and IP addresses."""

import re

from svc.text.normalise.english.numbers import NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, after

_GROUP = re.compile(r"\+|\d+|[A-Z]+")

# A number after one of these words is spoken digit by digit.
BEFORE_CODES = (
    "account", "code", "Code", "ID", "OTP", "passcode", "password", "PIN", "pin", "postcode", "serial", "tracking",
    "ticket", "ZIP", "zip", "Zip", "ending in", "card ending", "account ending", "acct ending",
)  # fmt: skip
LINKS = ("", ":", " is", " is:", " number", " number:", " number is", " code", " code:", " code is")
BEFORE_DIALLED = ("Call", "call", "dial", "Dial", "Text", "text")

# In the words before it, one of these makes a run of digits a phone number.
_PHONE_BEFORE = re.compile(
    r"\b(?:call|cell|contact|dial|fax|landline|mobile|number|phone|reach|ring|sms|tel|telephone|text|whatsapp)\b"
    r"[^.!?\d]{0,30}\Z",
    re.IGNORECASE,
)


def build_phone_rules(numbers: Numbers) -> list[Rule]:
    def say_digits(match: re.Match[str]) -> str:
        return numbers.digits(match[0])

    def say_groups(match: re.Match[str]) -> str:
        spoken = [_say_group(group, numbers) for group in _GROUP.findall(match[0])]
        return ", ".join(spoken).replace("plus, ", "plus ")

    def say_dialled(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda found: numbers.digits(found[0]), match[0])

    def say_called(match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - 60) : match.start()]
        return say_groups(match) if _PHONE_BEFORE.search(before) else None

    def say_long(match: re.Match[str]) -> str:
        """Ten digits are a phone number without its separators, more are a key of some kind."""
        digits = match[0]
        parts = (digits[:3], digits[3:6], digits[6:]) if len(digits) == 10 else (digits,)
        return ", ".join(map(numbers.digits, parts))

    def say_star(match: re.Match[str]) -> str:
        return f"star {numbers.digits(match['digits'])}" + (" hash" if match["hash"] else "")

    code_start = after(*(word + link for word in BEFORE_CODES for link in LINKS))
    start = r"(?<![^\W_])(?<![\d][.,-])"
    end = r"(?![^\W_]|[.,-]\d)"
    return [
        Rule(rf"{code_start}\d{{3,12}}{end}", say_digits),
        Rule(rf"{start}(?:\+?1[-. ]?)?\(\d{{3}}\)[ ]?\d{{3}}[-. ]\d{{4}}{end}", say_groups),
        Rule(rf"{start}(?:\+?1[-. ])?\d{{3}}([-. ])\d{{3}}\1\d{{4}}{end}", say_groups),
        Rule(rf"{start}(?:1-)?8\d\d-[A-Z\d]{{2,8}}(?:-[A-Z\d]{{2,8}}){{0,2}}{end}", say_groups),
        Rule(r"\btel:(?=\+?\d)", ""),
        Rule(rf"(?<![\w+])\+\d{{1,3}}(?:[-. ]?\(?\d{{1,5}}\)?){{2,6}}{end}", say_groups),
        Rule(rf"{start}(?:0\d{{2,5}}[- ]|\(0\d{{1,5}}\)[ ]?)\d{{3,4}}[- ]?\d{{3,4}}{end}", say_groups),
        Rule(rf"{start}0\d{{2,4}}[- ]\d{{3,8}}{end}", say_groups),
        Rule(rf"{start}00[ ]?\d{{1,3}}(?:[- ]\d{{2,5}}){{2,5}}{end}", say_groups),
        Rule(rf"{start}0\d(?:([ .-])\d\d)(?:\1\d\d){{3}}{end}", say_groups),
        Rule(rf"{start}\d{{3}}-\d{{2}}-\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{4}}([- ])\d{{4}}\1\d{{4}}\1\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{3}}-\d{{4}}{end}", say_groups),
        Rule(rf"{start}\d{{1,9}}(?:-\d{{1,9}}){{2,12}}{end}", say_groups),
        Rule(r"(?<=, [A-Z][A-Z][ ])\d{5}(?:-\d{4})?(?!\d)", say_groups),  # after the state, a ZIP code
        Rule(rf"{start}(?:\d{{2,5}}(?:[ .-]\d{{2,6}}){{1,4}}|\d{{7,9}}){end}", say_called),
        Rule(
            rf"{after(*BEFORE_DIALLED)}\d{{3,6}}(?:(?:[ ]or[ ]|/)\d{{3,6}})*{end}"
            r"(?![ -]\d|[ ](?:people|times|more|friends|of)\b)",
            say_dialled,
        ),
        Rule(rf"(?<=[A-Z][ ]to[ ])\d{{4,6}}{end}", say_digits),  # Text STOP to 40404
        Rule(
            r"(?:(?<=[Dd]ial[ ])|(?<=[Pp]ress[ ])|(?<=[Cc]all[ ]))\*(?P<digits>\d{1,4})(?P<hash>#)?(?![\w*])",
            say_star,
        ),
        Rule(rf"{start}(?!\d+0{{5}})\d{{10,19}}{end}", say_long),
        Rule(r"(?<=\d{4}),?[ ]?(?:x|ext\.?|Ext\.?)[ ]?(?=\d{1,6}(?!\w))", " extension "),
    ]


def _say_group(group: str, numbers: Numbers) -> str:
    if group == "+":
        return "plus"
    if group.isdecimal():
        return numbers.digits(group)
    is_word = len(group) > 3 or (len(group) == 2 and set(group) & set("AEIOUY"))
    return group.capitalize() if is_word else " ".join(group)


# A number after one of these is a version, not a decimal: "Python three point eleven".
VERSIONED = (
    "Android", "Chrome", "Debian", "Django", "Fedora", "Firefox", "Go", "Java", "Linux", "Node", "PHP",
    "Postgres", "PostgreSQL", "Python", "Ruby", "Rust", "Safari", "TypeScript", "Ubuntu", "Version", "iOS",
    "macOS", "release", "version",
)  # fmt: skip


def build_version_rules(numbers: Numbers) -> list[Rule]:
    def say_address(match: re.Match[str]) -> str | None:
        parts = match["address"].split(".")
        if any(int(part) > 255 for part in parts):
            return None
        spoken = " dot ".join(map(numbers.integer, parts))
        if not match["port"]:
            return spoken
        return f"{spoken} {'colon' if match['mark'] == ':' else 'slash'} {numbers.code(match['port'])}"

    def say_version(match: re.Match[str]) -> str | None:
        parts = match["version"].split(".")
        if not match["v"] and len(parts) > 2 and all(len(part) == 3 for part in parts[1:]):
            return None  # 1.000.000 is a million
        return ("version " if match["v"] else "") + " point ".join(map(numbers.integer, parts))

    return [
        Rule(
            rf"{NUMBER_START}(?P<address>\d{{1,3}}(?:\.\d{{1,3}}){{3}})(?:(?P<mark>[:/])(?P<port>\d{{1,5}}))?(?!\d|\.\d)",
            say_address,
        ),
        Rule(r"(?<![^\W_])(?P<v>v)\.?[ ]?(?P<version>\d{1,5}(?:\.\d{1,5}){0,5})(?![^\W_]|\.\d)", say_version),
        Rule(rf"{NUMBER_START}(?P<v>(?!))?(?P<version>\d{{1,5}}(?:\.\d{{1,5}}){{2,5}})(?!\d|\.\d)", say_version),
        Rule(rf"{after(*VERSIONED)}(?P<v>(?!))?(?P<version>\d{{1,3}}\.\d{{1,2}})(?!\d|\.\d)", say_version),
    ]
