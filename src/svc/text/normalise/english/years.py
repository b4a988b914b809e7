"""Years, decades and eras."""

import re

from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule, after

# After these words a number of four digits is a year.
BEFORE_YEARS = (
    "in", "In", "since", "Since", "until", "Until", "till", "before", "Before", "after", "After", "during",
    "During", "circa", "around", "by", "By", "from", "From", "year", "spring", "summer", "autumn", "fall",
    "winter", "late", "early", "mid", "class of", "battle of", "Battle of", "year of", "summer of",
    "Summer of", "winter of", "fall of", "spring of", "revolution of", "Copyright", "born", "died",
    "founded", "est.", "c.", "ca.", "b.", "d.", "r.", "fl.", "AD",
)  # fmt: skip

# Before these a number of four digits is a count, not a year.
COUNTED = (
    r"(?:people|men|women|children|percent|degrees|feet|times|more|million|billion|of|or|dollars|pounds|euros|"
    r"[a-z]+(?:(?<!wa)(?<!ha)(?<!i)(?<![aiuos])s)|square|cubic)"
)

BEFORE_DECADES = (
    "the", "The", "his", "her", "my", "your", "our", "their", "its", "early", "mid", "late", "upper", "lower",
    "and", "or",
)  # fmt: skip

FIRST_YEAR, LAST_YEAR = 1900, 2099


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_decade(match: re.Match[str]) -> str:
        return numbers.decade(int(match["decade"]))

    def say_year_of_era(match: re.Match[str]) -> str:
        letters = match["era"].replace(".", "")
        digits = match["year"].replace(",", "")
        spoken = numbers.year(int(digits)) if len(digits) == 4 else numbers.integer(digits)
        return f"{spoken} {letters}"

    def say_year(match: re.Match[str]) -> str:
        return numbers.year(int(match["year"]))

    def say_years(match: re.Match[str]) -> str | None:
        last = match["last"]
        if len(last) == 4 and int(last) <= int(match["first"]):
            return None
        spoken = numbers.year(int(last)) if len(last) == 4 else numbers.integer(last)
        return f"{numbers.year(int(match['first']))} to {spoken}"

    def say_bare_year(match: re.Match[str]) -> str | None:
        number = int(match["year"])
        return numbers.year(number) if FIRST_YEAR <= number <= LAST_YEAR else None

    def say_short_year(match: re.Match[str]) -> str:
        digits = match["year"]
        spoken = numbers.code(digits) if digits[0] != "0" else f"oh {numbers.digits(digits[1])}"
        return f" {spoken}" if match.string[match.start() - 1 : match.start()].isalnum() else spoken

    year = r"(?P<year>[12]\d{3})(?![\d]|[.,:]\d)"
    start = r"(?<![^\W_])(?<![\d][./-])"
    return [
        Rule(rf"{start}(?P<first>[12]\d{{3}})[-–](?P<last>[12]\d{{3}}|\d\d)(?![\d-])", say_years),
        Rule(rf"{start}(?P<decade>[12]\d\d0)'?s\b", say_decade),
        Rule(r"(?<![^\W_])'(?P<decade>[1-9]0)'?s\b", say_decade),
        Rule(
            rf"(?:{after(*BEFORE_DECADES)}|(?<=mid-)|(?<=late-)|(?<=early-)|(?<=&[ ])|(?<=0s[-–]))"
            r"(?P<decade>[2-9]0)'?s\b",
            say_decade,
        ),
        Rule(r"(?:(?<!\w)|(?<=\bQ[1-4])|(?<=\bFY))'(?P<year>\d\d)(?![\w'\"])", say_short_year),
        Rule(
            rf"{start}(?P<year>\d{{1,3}}(?:,\d{{3}})|\d{{1,5}})[ ]?"
            r"(?P<era>BCE|CE|BC|AD|B\.C\.E?\.?|A\.D\.|C\.E\.)(?!\w)",
            say_year_of_era,
        ),
        Rule(r"(?:(?<=\bBC)|(?<=\bBCE)|(?<=\bCE)|(?<=\bAD))[ ]?[-–][ ]?(?=\d)", " to "),
        Rule(rf"(?:{after(*BEFORE_YEARS)}|(?<=\()(?=\d)){year}(?![ ]{COUNTED}\b)(?!%|[^\W_])", say_year),
        Rule(rf"{start}(?<![$£€¥₹#.,:]){year}(?![ ]{COUNTED}\b)(?![%°]|[^\W_]|[ ]?[-+*/=×x÷][ ]?\d)", say_bare_year),
    ]
