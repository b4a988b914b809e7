"""Days, months and weekdays."""

import re

from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule, after, any_of, behind

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

_DAY = re.compile(rf"\b(?P<day>{any_of(DAYS)})\b\.?")

# After these, a short name of a month needs no full stop.
BEFORE_MONTHS = ("in", "since", "until", "late", "early", "mid", "last", "next")

# After these, 9/30 is a day and not a fraction.
BEFORE_DAYS = (
    "on", "On", "due", "Due", "by", "By", "until", "till", "through", "thru", "before", "since", "dated",
    "starting", "starts", "ends", "ending", "expires", "week of", "Week of", "from", "From", "between", "and", "to",
    *DAYS, "Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,",
)  # fmt: skip
# After these, 1/3 is rather a third.
_FRACTION_OR_DAY = re.compile(r"(?<!due )(?<!RSVP )\b(?:by|By|before|from|From|between|and|to)[ ]\Z")
_DAY_BEFORE = re.compile(r"\b(?:from|From|between)[ ]\d{1,2}/\d{1,2}[ ](?:and|to|through|thru|until|till)[ ]\Z")
_DAY_AFTER = re.compile(r"[ ](?:and|to|through|thru|until|till)[ ]\d{1,2}/\d{1,2}(?![\d/]|[ ][a-z])")


def build_rules(numbers: Numbers) -> list[Rule]:
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
        return f"{spoken}, {numbers.year(complete_year(written_year))}" if written_year else spoken

    def complete_year(written: str) -> int:
        """Two digits are of the last hundred years or soon to come."""
        number = int(written)
        return number if len(written) > 2 else number + (2000 if number < 70 else 1900)

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

    def say_day_list(match: re.Match[str]) -> str:
        spoken = _DAY.sub(lambda found: DAYS[found["day"]], match[0])
        return re.sub("[ ]?(?:&|/)[ ]?", lambda found: " and " if "&" in found[0] else " ", spoken)

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
        first, second, year_number = int(match["first"]), int(match["second"]), complete_year(match["year"])
        day_is_first = numbers.british or match["separator"] == "."
        month_number, day_number = (second, first) if day_is_first else (first, second)
        return say_date(year_number, month_number, day_number) or say_date(year_number, day_number, month_number)

    def say_short_date(match: re.Match[str]) -> str | None:
        first, second = int(match["first"]), int(match["second"])
        if first < second <= 12 and is_fraction(match):
            return None
        month_number, day_number = (second, first) if numbers.british else (first, second)
        if not (1 <= month_number <= 12 and 1 <= day_number <= 31):
            return None
        return say_day_of_month(MONTHS[month_number - 1], str(day_number))

    def is_fraction(match: re.Match[str]) -> bool:
        """Whether 1/3 is a third: "by 1/3", but not "from 12/22 to 1/3"."""
        before = match.string[max(0, match.start() - 30) : match.start()]
        in_range = _DAY_BEFORE.search(before) or _DAY_AFTER.match(match.string, match.end())
        return bool(_FRACTION_OR_DAY.search(before)) and not in_range

    return [
        Rule(
            rf"{start}(?P<year>[12]\d{{3}})-(?P<month>[01]\d)-(?P<day>[0-3]\d)"
            r"(?:(?P<time>T|[ ](?=\d\d:\d\d))|(?![\d-]))",
            say_iso_date,
        ),
        Rule(
            rf"{start}(?P<year>[12]\d{{3}})(?P<mark>[/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
            r"(?P<time>(?!))?(?![\d/]|\.\d)",
            say_iso_date,
        ),
        Rule(
            rf"{start}(?P<first>\d{{1,2}})(?P<separator>[/.-])(?P<second>\d{{1,2}})(?P=separator)"
            r"(?P<year>(?:19|20)\d\d|\d\d)(?![\d/-]|\.\d)",
            say_numeric_date,
        ),
        Rule(rf"{after(*BEFORE_DAYS)}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?![\d/])", say_short_date),
        Rule(
            rf"\b(?P<month>{month})\b\.?[ ]{day}(?:[ ]?[-–][ ]?(?P<to>[0-3]?\d)(?:st|nd|rd|th)?(?!\d))?"
            rf"(?![.,:]\d)(?:,?[ ]{year})?",
            say_month_first,
        ),
        # After a day, before the next month: "Oct. 31st–Nov. 2nd".
        Rule(rf"(?:(?<=\d)|(?<=st)|(?<=nd)|(?<=rd)|(?<=th))[ ]?[-–][ ]?(?=(?:{month})\b)", " to "),
        Rule(
            rf"{start}(?P<the>)(?P<from>)(?P<day>[0-3]?\d)(?P<mark>[-/.])(?P<month>{month})(?P=mark)"
            r"(?P<year>[12]\d{3}|\d\d)(?![\d-])",
            say_day_first,
        ),
        Rule(
            rf"{start}(?P<the>\b[Tt]he[ ])?(?:(?P<from>[0-3]?\d)[ ]?[-–][ ]?)?{day}(?:[ ]of)?[ ](?P<month>{month})\b\.?"
            rf"(?:,?[ ]{year})?",
            say_day_first,
        ),
        Rule(
            rf"\b(?:{any_of(DAYS)})\b\.?(?:(?:,[ ]|[ ]?[&/][ ]?|[ ](?:and|or)[ ])(?:{any_of(DAYS)})\b)+", say_day_list
        ),
        Rule(rf"\b(?P<first>{any_of(DAYS)})\.?[ ]?[-–][ ]?(?P<last>{any_of(DAYS)})\b\.?", say_days),
        Rule(rf"\b(?P<day>{any_of(DAYS)})(?=,?[ ](?:\d|(?:{month})\b))", lambda match: DAYS[match["day"]]),
        Rule(rf"\b(?P<first>{month})\.?[ ]?[-–][ ]?(?P<last>{month})\b\.?", say_months),
        Rule(rf"\b(?P<month>{month})\b\.?,?[ ]{year}", say_month_and_year),
        Rule(rf"\b(?P<month>{month})\b\.?(?=[ ]'\d\d(?!\w))", lambda match: MONTH_NAMES[match["month"]]),
        Rule(
            rf"{behind(*BEFORE_MONTHS, first='[A-Z]')}(?P<month>{month})(?![\w.'-])",
            lambda match: MONTH_NAMES[match["month"]],
        ),
    ]
