"""Versions of software, and network addresses."""

import re

from svc.text.normalise.english.numbers import NUMBER_START, Numbers
from svc.text.normalise.rules import Rule, after, rule

# "Python 3.11" is no decimal: three point eleven.
VERSIONED = (
    "Android", "Chrome", "Debian", "Django", "Fedora", "Firefox", "Go", "Java", "Linux", "Node", "PHP",
    "Postgres", "PostgreSQL", "Python", "Ruby", "Rust", "Safari", "TypeScript", "Ubuntu", "Version", "iOS",
    "macOS", "release", "version",
)  # fmt: skip


def rules(numbers: Numbers) -> list[Rule]:
    def version(match: re.Match[str]) -> str:
        parts = match["version"].split(".")
        sign = " dot " if len(parts) == 4 else " point "  # four parts are an address
        return ("version " if match["v"] else "") + sign.join(numbers.whole(part) for part in parts)

    return [
        rule(r"(?<![^\W_])(?P<v>v)\.?[ ]?(?P<version>\d{1,5}(?:\.\d{1,5}){0,5})(?![^\W_]|\.\d)", version),
        rule(rf"{NUMBER_START}(?P<v>(?!))?(?P<version>\d{{1,5}}(?:\.\d{{1,5}}){{2,5}})(?!\d|\.\d)", version),
        rule(rf"{after(*VERSIONED)}(?P<v>(?!))?(?P<version>\d{{1,3}}\.\d{{1,2}})(?!\d|\.\d)", version),
    ]
