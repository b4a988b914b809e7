"""Dates, years, decades, eras and times of day."""

import re

from svc.text.normalise.english.numbers import SMALL, Numbers
from svc.text.normalise.rules import Rule, after, any_of

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
MONTH_NAMES = {
    month[:3]: month for month in MONTHS} | {month: month for month in MONTHS} | {"Sept": "September",
}  # fmt: skip

# After these words a number of four digits is a year.
BEFORE_YEARS = (
    "in", "In", "since", "Since", "until", "Until", "till", "before", "Before", "after", "After", "during",
    "During", "circa", "around", "by", "By", "from", "From", "year", "spring", "summer", "autumn", "fall",
    "winter", "late", "early", "mid", "class of", "battle of", "Battle of", "year of", "summer of",
    "Summer of", "winter of", "fall of", "spring of", "revolution of", "Copyright", "born", "died",
    "founded", "est.", "c.", "ca.", "AD",
)  # fmt: skip

# Before these a number of four digits is a count, not a year.
COUNTED = (
    r"(?:people|men|women|children|percent|degrees|feet|times|more|million|billion|of|or|dollars|pounds|euros|"
    r"[a-z]+(?:(?<!wa)(?<!ha)(?<!i)(?<![aiuos])s)|square|cubic)"
)

BEFORE_DECADES = (
    "the", "The", "his", "her", "my", "your", "our", "their", "its", "early", "mid", "late", "upper", "lower",
)  # fmt: skip

FIRST_YEAR, LAST_YEAR = 1900, 2099


def build_date_rules(numbers: Numbers) -> list[Rule]:
    month = any_of(MONTH_NAMES)
    day = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?!\d)"
    year = r"(?P<year>[12]\d{3})(?![\d]|[.,:]\d)"
    start = r"(?<![^\W_])(?<![\d][./-])"

    def is_day(written: str) -> bool:
        return 1 <= int(written) <= 31

    def say_day_of_month(month_name: str, written_day: str) -> str:
        the = "the " if numbers.british else ""
        return f"{month_name} {the}{numbers.ordinal(int(written_day))}"

    def add_year(spoken: str, written_year: str | None) -> str:
        return f"{spoken}, {numbers.year(int(written_year))}" if written_year else spoken

    def say_month_first(match: re.Match[str]) -> str | None:
        if not is_day(match["day"]):
            return None
        spoken = say_day_of_month(MONTH_NAMES[match["month"]], match["day"])
        if match["to"]:
            spoken += f" to {numbers.ordinal(int(match['to']))}"
        return add_year(spoken, match["year"])

    def say_day_first(match: re.Match[str]) -> str | None:
        if not is_day(match["day"]):
            return None
        the = "" if match["the"] else "the "
        first = f"{numbers.ordinal(int(match['from']))} to " if match["from"] else ""
        spoken = (
            f"{match['the'] or ''}{the}{first}{numbers.ordinal(int(match['day']))} of {MONTH_NAMES[match['month']]}"
        )
        return add_year(spoken, match["year"])

    def say_months(match: re.Match[str]) -> str:
        return f"{MONTH_NAMES[match['first']]} to {MONTH_NAMES[match['last']]}"

    def say_days(match: re.Match[str]) -> str:
        return f"{DAYS[match['first']]} to {DAYS[match['last']]}"

    def say_month_and_year(match: re.Match[str]) -> str:
        return f"{MONTH_NAMES[match['month']]} {numbers.year(int(match['year']))}"

    def say_date(year_number: int, month_number: int, day_number: int) -> str | None:
        if not (1 <= month_number <= 12 and 1 <= day_number <= 31):
            return None
        name = MONTHS[month_number - 1]
        if numbers.british:
            return f"the {numbers.ordinal(day_number)} of {name}, {numbers.year(year_number)}"
        return f"{name} {numbers.ordinal(day_number)}, {numbers.year(year_number)}"

    def say_iso_date(match: re.Match[str]) -> str | None:
        spoken = say_date(int(match["year"]), int(match["month"]), int(match["day"]))
        return spoken + ", " if spoken and match["time"] else spoken

    def say_numeric_date(match: re.Match[str]) -> str | None:
        first, second, written_year = int(match["first"]), int(match["second"]), match["year"]
        year_number = int(written_year)
        if len(written_year) == 2:
            year_number += 2000 if year_number < 70 else 1900
        day_is_first = numbers.british or match["separator"] == "."
        month_number, day_number = (second, first) if day_is_first else (first, second)
        return say_date(year_number, month_number, day_number) or say_date(year_number, day_number, month_number)

    def say_short_date(match: re.Match[str]) -> str | None:
        first, second = int(match["first"]), int(match["second"])
        month_number, day_number = (second, first) if numbers.british else (first, second)
        if not (1 <= month_number <= 12 and 1 <= day_number <= 31):
            return None
        return say_day_of_month(MONTHS[month_number - 1], str(day_number))

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
        return numbers.code(match["year"]) if match["year"][0] != "0" else f"oh {numbers.digits(match['year'][1])}"

    return [
        Rule(
            rf"{start}(?P<year>[12]\d{{3}})-(?P<month>[01]\d)-(?P<day>[0-3]\d)"
            r"(?:(?P<time>T|[ ](?=\d\d:\d\d))|(?![\d-]))",
            say_iso_date,
        ),
        Rule(
            rf"{start}(?P<first>\d{{1,2}})(?P<separator>[/.-])(?P<second>\d{{1,2}})(?P=separator)"
            r"(?P<year>(?:19|20)\d\d|\d\d)(?![\d/-]|\.\d)",
            say_numeric_date,
        ),
        Rule(rf"{after('on', 'On')}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?![\d/])", say_short_date),
        Rule(
            rf"\b(?P<month>{month})\b\.?[ ]{day}(?:[ ]?[-–][ ]?(?P<to>[0-3]?\d)(?:st|nd|rd|th)?(?!\d))?"
            rf"(?![.,:]\d)(?:,?[ ]{year})?",
            say_month_first,
        ),
        Rule(
            rf"{start}(?P<the>\b[Tt]he[ ])?(?:(?P<from>[0-3]?\d)[ ]?[-–][ ]?)?{day}(?:[ ]of)?[ ](?P<month>{month})\b\.?"
            rf"(?:,?[ ]{year})?",
            say_day_first,
        ),
        Rule(rf"\b(?P<first>{any_of(DAYS)})\.?[ ]?[-–][ ]?(?P<last>{any_of(DAYS)})\b\.?", say_days),
        Rule(rf"\b(?P<day>{any_of(DAYS)})(?=,?[ ](?:\d|(?:{month})\b))", lambda match: DAYS[match["day"]]),
        Rule(rf"\b(?P<first>{month})\.?[ ]?[-–][ ]?(?P<last>{month})\b\.?", say_months),
        Rule(rf"\b(?P<month>{month})\b\.?,?[ ]{year}", say_month_and_year),
        Rule(rf"{start}(?P<first>[12]\d{{3}})[-–](?P<last>[12]\d{{3}}|\d\d)(?![\d-])", say_years),
        Rule(rf"{start}(?P<decade>[12]\d\d0)'?s\b", say_decade),
        Rule(r"(?<![^\W_])'(?P<decade>[1-9]0)'?s\b", say_decade),
        Rule(rf"(?:{after(*BEFORE_DECADES)}|(?<=mid-)|(?<=late-)|(?<=early-))(?P<decade>[2-9]0)'?s\b", say_decade),
        Rule(r"(?<!\w)'(?P<year>\d\d)(?![\w'\"])", say_short_year),
        Rule(
            rf"{start}(?P<year>\d{{1,3}}(?:,\d{{3}})|\d{{1,5}})[ ]?"
            r"(?P<era>BCE|CE|BC|AD|B\.C\.E?\.?|A\.D\.|C\.E\.)(?!\w)",
            say_year_of_era,
        ),
        Rule(rf"(?:{after(*BEFORE_YEARS)}|(?<=\()(?=\d)){year}(?![ ]{COUNTED}\b)(?!%|[^\W_])", say_year),
        Rule(rf"{start}(?<![$£€¥₹#.,:]){year}(?![ ]{COUNTED}\b)(?![%°]|[^\W_]|[ ]?[-+*/=×x÷][ ]?\d)", say_bare_year),
    ]


_AM_PM = r"[ ]?(?P<am_pm>[aApP])(?:\.[ ]?[mM]\.|[mM]\b\.?(?=\W|$))"
_TO = r"[ ]?(?:[-–—]|to|until|till)[ ]?"


def build_time_rules(numbers: Numbers) -> list[Rule]:
    def say_clock(hour: str, minute: str | None, *, am_pm: bool) -> str:
        hours, minutes = int(hour), int(minute or 0)
        spoken = numbers.cardinal(hours)
        if minutes >= 10:
            return f"{spoken} {numbers.cardinal(minutes)}"
        if minutes:
            return f"{spoken} oh {SMALL[minutes]}"
        if am_pm or minute is None:
            return spoken
        return f"{spoken} o'clock" if 1 <= hours <= 12 else f"{spoken} hundred"

    def say_am_or_pm(match: re.Match[str], group: str) -> str:
        letter = match[group]
        return f" {letter.lower()}.m." if letter else ""

    def say_time(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["minute"]) > 59:
            return None
        spoken = say_clock(match["hour"], match["minute"], am_pm=bool(match["am_pm"]))
        if int(match["second"] or 0):
            spoken += f" and {numbers.cardinal(int(match['second']))} seconds"
        return spoken + say_am_or_pm(match, "am_pm") + (" UTC" if match["zulu"] else "")

    def say_hour(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 12:
            return None
        return numbers.cardinal(int(match["hour"])) + say_am_or_pm(match, "am_pm")

    def say_time_range(match: re.Match[str]) -> str | None:
        if int(match["hour"]) > 24 or int(match["to_hour"]) > 24:
            return None
        am_pm = bool(match["am_pm"])
        first = say_clock(match["hour"], match["minute"], am_pm=am_pm) + say_am_or_pm(match, "first_am_pm")
        return (
            f"{first} to {say_clock(match['to_hour'], match['to_minute'], am_pm=am_pm)}{say_am_or_pm(match, 'am_pm')}"
        )

    hour = r"(?:(?<![^\W_])(?<![.,:/\d-])|(?<=\dT))(?P<hour>\d{1,2})"  # the T of 2024-01-05T15:30
    minute = r"[:.](?P<minute>[0-5]\d)"
    first_am_pm = r"(?:[ ]?(?P<first_am_pm>[aApP])\.?[mM]\.?)?"
    to_hour = r"(?P<to_hour>\d{1,2})(?:[:.](?P<to_minute>[0-5]\d))?"
    return [
        Rule(rf"{hour}(?:{minute})?{first_am_pm}{_TO}{to_hour}{_AM_PM}", say_time_range),
        Rule(
            rf"{hour}:(?P<minute>[0-5]\d){first_am_pm}{_TO}{to_hour}(?![\d:.]\d)(?P<am_pm>(?!))?(?!\w)",
            say_time_range,
        ),
        Rule(
            rf"{hour}:(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d+)?)?(?P<zulu>Z)?(?:{_AM_PM})?(?![\d:])(?![^\W_])",
            say_time,
        ),
        Rule(rf"{hour}\.(?P<minute>[0-5]\d)(?P<second>(?!))?(?P<zulu>(?!))?{_AM_PM}", say_time),
        Rule(rf"{hour}{_AM_PM}", say_hour),
        Rule(r"(?<![^\W_])(?P<am_pm>[ap])\.[ ]m\.", lambda match: say_am_or_pm(match, "am_pm").strip()),
    ]
