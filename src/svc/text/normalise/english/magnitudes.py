"""Thousands, millions and billions that are abbreviated: 10k, 2.5M, 3B, 4.2 bn."""

import re

from svc.text.normalise.english.numbers import MAGNITUDES, NUMBER, NUMBER_START, SIGNED, Numbers
from svc.text.normalise.rules import Rule

# After these, 5K and 10K are distances; before those, too, and 4K is a resolution.
_RACE_BEFORE = re.compile(r"\b(?:an?|the|my|your|his|her|first|ran|run|running|jog|walk)[ ]\Z", re.IGNORECASE)
_RACE_AFTER = re.compile(r"[ ](?:run|race|runner|walk|time|TV|video|monitor|display|screen|resolution)s?\b")
_RESOLUTIONS = frozenset({"2", "4", "5", "8", "16"})
_THINGS_AFTER = re.compile(r"[ ](?:people|more|(?!(?:was|has|does|this|its|is|as|us)\b)[a-z]{3,}s)\b")


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {numbers.number(match['high'])} {name_magnitude(match)}"

    def say_magnitude(match: re.Match[str]) -> str:
        return f"{numbers.signed(match)} {name_magnitude(match)}"

    def name_magnitude(match: re.Match[str]) -> str:
        return MAGNITUDES[match["magnitude"].strip(" .").lower()]

    def say_thousands(match: re.Match[str]) -> str | None:
        """10k is ten thousand, but a race over 10K and a 4K screen keep their K."""
        counts_things = _THINGS_AFTER.match(match.string, match.end())
        is_distance = _RACE_BEFORE.search(match.string, max(0, match.start() - 10), match.start())
        is_name = is_distance or match["number"] in _RESOLUTIONS
        is_model = match.string[: match.start()].endswith("-")  # i7-9700K
        if is_model or _RACE_AFTER.match(match.string, match.end()) or (is_name and not counts_things):
            return None
        return say_magnitude(match)

    def say_billions(match: re.Match[str]) -> str | None:
        """3B people, but not seat 3B."""
        return say_magnitude(match) if _THINGS_AFTER.match(match.string, match.end()) else None

    return [
        Rule(
            rf"{NUMBER_START}(?P<low>{NUMBER})[kKM]?[-–](?P<high>{NUMBER})(?P<magnitude>[kKM]|bn|mn)(?![^\W_])",
            say_range,
        ),
        Rule(
            rf"{SIGNED}(?P<magnitude>M|bn|mn|(?<=\.\d)B|[ ](?:bn|mn|mil|mln|bln|tn)\b\.?)(?![^\W_])",
            say_magnitude,
        ),
        Rule(rf"{SIGNED}(?P<magnitude>[kK])(?![^\W_]|-)", say_thousands),
        Rule(rf"{SIGNED}(?P<magnitude>[BT])(?![^\W_])", say_billions),
    ]
