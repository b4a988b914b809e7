"""What the Unicode CLDR knows of a language: months, units, currencies and their plurals. scripts/make_cldr.py"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

# "n mod 10 in 2..4,9", "v not in 0": CLDR's plural rules are such relations, joined by "and" and "or".
_RELATION = re.compile(r"(?P<operand>[nivft])(?: mod (?P<divisor>\d+))? (?P<sign>in|not in) (?P<ranges>[\d.,]+)")


@dataclass(frozen=True, slots=True)
class LocaleData:
    """Of one language. Forms of nouns are by plural category, with "{}" in the place of the number."""

    plurals: dict[str, str]
    months: list[str]
    """As in dates."""
    months_alone: list[str]
    units: dict[str, dict[str, str]]
    symbols: dict[str, str]
    """The short name of each unit."""
    currencies: dict[str, dict[str, str]]

    def choose_form(self, forms: Mapping[str, str], number: Decimal) -> str:
        """The form of a noun that is counted with this number."""
        category = next((name for name, rule in self.plurals.items() if _holds(rule, number)), "other")
        return forms.get(category, forms["other"])


@cache
def load_locale(code: str) -> LocaleData:
    stored = json.loads(files("svc").joinpath("data/cldr.json").read_text(encoding="utf-8"))
    return LocaleData(**stored[code])


def _holds(rule: str, number: Decimal) -> bool:
    operands = _find_operands(number)
    return any(
        all(_relates(relation, operands) for relation in _RELATION.finditer(alternative))
        for alternative in rule.split(" or ")
    )


def _find_operands(number: Decimal) -> dict[str, Decimal]:
    """CLDR's: the number, its integer part, how many decimals it has, and which, with zeros at the end or without."""
    decimals = f"{number:f}".partition(".")[2]
    found = {"i": int(number), "v": len(decimals), "f": int(decimals or 0), "t": int(decimals.rstrip("0") or 0)}
    return {"n": number, **{name: Decimal(each) for name, each in found.items()}}


def _relates(relation: re.Match[str], operands: Mapping[str, Decimal]) -> bool:
    value = operands[relation["operand"]]
    if relation["divisor"]:
        value %= int(relation["divisor"])
    bounds = (each.partition("..") for each in relation["ranges"].split(","))
    # Fractions are in no range: 1.5 is not between 1 and 2.
    inside = value == int(value) and any(int(low) <= value <= int(high or low) for low, _, high in bounds)
    return inside == (relation["sign"] == "in")
