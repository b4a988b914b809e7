"""Initials, acronyms, and names in which letters meet digits.

Acronyms and initials in a row (FBI, CDs, U.S., PhD) stay as they are: G2P spells them.
"""

import re

from svc.text.normalise.english.numbers import Numbers, pluralise_number
from svc.text.normalise.rules import Rule, any_of
from svc.text.sentences.sentence_starters import SENTENCE_STARTERS

# Names that the rules get wrong.
NAMES = {
    "C++": "C plus plus", "C#": "C sharp", "F#": "F sharp", ".NET": "dot net", "Node.js": "Node JS",
    "CO2": "C O two", "IPv4": "IP V four", "IPv6": "IP V six", "Ph.D.": "PhD", "Ph.D": "PhD", "Ph.Ds": "PhDs",
    "M.Sc.": "MSc", "B.Sc.": "BSc", "D.Phil.": "D Phil",
    "K8s": "Kubernetes", "k8s": "Kubernetes", "i18n": "internationalization", "a11y": "accessibility",
    "l10n": "localization",
}  # fmt: skip

# With more parts than this it is a key or a checksum, which is spoken digit by digit.
MOST_PARTS = 6

_PART = re.compile(r"\d+|[^\W\d_]+")


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_name(match: re.Match[str]) -> str:
        return NAMES[match["name"]]

    def say_initial(match: re.Match[str]) -> str | None:
        return match["letter"] if match["name"].lower() not in SENTENCE_STARTERS else None

    def say_parts(match: re.Match[str]) -> str:
        found = _PART.findall(match[0])
        is_plural = found[-1] == "s" and found[-2].isdecimal()  # "two MP3s"
        if is_plural:
            found.pop()
        digits = numbers.digits if len(found) > MOST_PARTS else numbers.code
        spoken = " ".join(digits(part) if part.isdecimal() else say_letters(part) for part in found)
        return pluralise_number(spoken) if is_plural else spoken

    def say_letters(part: str) -> str:
        return part.upper() if len(part) == 1 else part

    def say_hyphenated(match: re.Match[str]) -> str:
        written, tail = match["number"], match["tail"]
        spoken = numbers.number(written) if "." in written else numbers.code(written)
        if tail == "s":
            return f" {pluralise_number(spoken)}"
        return f" {spoken} {say_letters(tail)}" if tail else f" {spoken}"

    def say_standard(match: re.Match[str]) -> str:
        return f" {numbers.code(match['number'])}"

    both_kinds = r"(?=[^\W_]{0,40}\d)(?=[^\W_]{0,40}[^\W\d_])"
    power = r"(?![^\W_]*[⁰¹²³⁴⁵⁶⁷⁸⁹])"
    counted = r"(?!\d+(?:st|nd|rd|th|s|x|M)\b)"  # "2nd", "90s", "10x" and "5M" are not names
    decade = r"(?!\d*0s\b)"
    return [
        Rule(rf"(?<![^\W_])(?P<name>{any_of(NAMES)})(?![^\W_]|[+#])", say_name),
        Rule(r"(?<![\w.])(?P<letter>[A-Z])\.(?=[ ](?P<name>[A-Z]\w*))(?<!\bI\.)", say_initial),
        Rule(r"(?<=\b[A-Z])\.(?P<number>\d{2,4})(?![\w.,])", say_standard),  # H.264
        Rule(r"(?<=[A-Z]\.)(?P<letter>[A-Z])\.(?=[A-Z][a-z])", lambda match: f"{match['letter']}. "),
        Rule(
            rf"(?<=[^\W\d_])-{decade}(?P<number>\d{{1,4}})(?![\d,:/%]|\.\d)(?P<tail>[A-Za-z]{{1,2}})?(?![^\W_])",
            say_hyphenated,
        ),
        Rule(
            r"(?<![\w.])(?P<name>[A-Za-z]{2,20})(?P<version>\d{1,3}(?:\.\d{1,3}){1,3})(?![^\W_]|\.\d)",  # Python3.11
            lambda match: f"{match['name']} {' point '.join(map(numbers.integer, match['version'].split('.')))}",
        ),
        Rule(
            r"(?<![\w.])(?P<number>\d{1,3}\.\d{1,2})(?P<tail>[a-jl-wyz]{1,2})(?![^\W_])",  # 802.11ac
            lambda match: f"{numbers.number(match['number'])} {match['tail'].upper()}",
        ),
        Rule(r"(?<=[^\W\d_])-(?P<number>\d{1,3}\.\d{1,3})(?P<tail>)(?![^\W_])", say_hyphenated),
        Rule(rf"(?<![^\W_]){both_kinds}{power}{counted}[^\W_]{{2,40}}(?![^\W_])", say_parts),
    ]
