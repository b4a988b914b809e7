"""Initials, acronyms and names in which letters meet digits.

Acronyms and initials in a row (FBI, CDs, U.S., PhD) stay as they are: pronunciation spells them.
"""

import re

from svc.text.abbreviations import SENTENCE_STARTERS
from svc.text.normalise.english.numbers import Numbers, plural
from svc.text.normalise.rules import Rule, any_of, rule

# Names that no rule would get right.
NAMES = {
    "C++": "C plus plus", "C#": "C sharp", "F#": "F sharp", ".NET": "dot net", "Node.js": "Node JS",
    "CO2": "C O two", "IPv4": "IP V four", "IPv6": "IP V six", "Ph.D.": "PhD", "Ph.D": "PhD", "Ph.Ds": "PhDs",
    "M.Sc.": "MSc", "B.Sc.": "BSc", "D.Phil.": "D Phil",
}  # fmt: skip

# More parts than this make no name but a key or a checksum, whose digits are read one by one.
MOST_PARTS = 6

_PART = re.compile(r"\d+|[^\W\d_]+")


def rules(numbers: Numbers) -> list[Rule]:
    def name(match: re.Match[str]) -> str:
        return NAMES[match["name"]]

    def initial(match: re.Match[str]) -> str | None:
        return match["letter"] if match["name"].lower() not in SENTENCE_STARTERS else None

    def parts(match: re.Match[str]) -> str:
        found = _PART.findall(match[0])
        is_plural = found[-1] == "s" and found[-2].isdecimal()  # "two MP3s"
        if is_plural:
            found.pop()
        digits = numbers.digits if len(found) > MOST_PARTS else numbers.code
        spoken = " ".join(digits(part) if part.isdecimal() else letters(part) for part in found)
        return plural(spoken) if is_plural else spoken

    def letters(part: str) -> str:
        return part.upper() if len(part) == 1 else part

    def hyphened(match: re.Match[str]) -> str:
        written, tail = match["number"], match["tail"]
        spoken = numbers.number(written) if "." in written else numbers.code(written)
        if tail == "s":
            return f" {plural(spoken)}"
        return f" {spoken} {letters(tail)}" if tail else f" {spoken}"

    both_kinds = r"(?=[^\W_]{0,40}\d)(?=[^\W_]{0,40}[^\W\d_])"
    counted = r"(?!\d+(?:st|nd|rd|th|s|x|k|M)\b)"  # "2nd", "90s", "10x", "5k" and "5M" are no names
    decade = r"(?!\d*0s\b)"
    return [
        rule(rf"(?<![^\W_])(?P<name>{any_of(NAMES)})(?![^\W_]|[+#])", name),
        rule(r"(?<![\w.])(?P<letter>[A-Z])\.(?=[ ](?P<name>[A-Z]\w*))(?<!\bI\.)", initial),
        rule(r"(?<=[A-Z]\.)(?P<letter>[A-Z])\.(?=[A-Z][a-z])", lambda match: f"{match['letter']}. "),
        rule(
            rf"(?<=[^\W\d_])-{decade}(?P<number>\d{{1,4}})(?![\d,:/%]|\.\d)(?P<tail>[A-Za-z]{{1,2}})?(?![^\W_])",
            hyphened,
        ),
        rule(r"(?<=[^\W\d_])-(?P<number>\d{1,3}\.\d{1,3})(?P<tail>)(?![^\W_])", hyphened),
        rule(rf"(?<![^\W_]){both_kinds}{counted}[^\W_]{{2,40}}(?![^\W_])", parts),
    ]
