"""`<say-as>`: text whose kind the caller names, so that its spoken form need not be guessed.

A value that does not fit its kind is read as without the tag. So are currencies, fractions and units, whose signs say
what they are.
"""

import re
from collections.abc import Callable

from svc.text.language.languages import Language
from svc.text.normalise import get_grammar, normalise
from svc.text.normalise.english import SIGNS
from svc.text.normalise.english.dates import MONTHS
from svc.text.normalise.english.numbers import MOST_DIGITS, Numbers
from svc.text.normalise.grammar import Grammar, parse_roman
from svc.text.normalise.urls import SignNames

_NUMBER = re.compile(r"(?P<sign>[+−-]?)(?P<whole>\d[\d.,'’ \u00a0\u202f]*)")
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d{2})|(?<=\d\d)(?P<joined>\d{2}))?(?:[:.](?P<second>\d{2}))?"
    r"\s*(?P<am_pm>[ap]\.?m\.?)?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?P<number>\d[\d.,]*?)[.,]?(?:[^\W\d_]{1,3}|º|ª|°)?")
_FIELD_LENGTHS = {"y": 4, "m": 2, "d": 2}


def say_as(text: str, kind: str, layout: str, language: Language) -> str | None:
    """The spoken form of a text of this kind; None if it has none of its own. `layout` is the element's `format`."""
    text = text.strip()
    say = _KINDS.get(kind)
    return say(text, layout, language) if say and text else None


def _say_characters(text: str, _: str, language: Language) -> str | None:
    """Letter by letter; signs by their names, where they have one."""
    grammar = get_grammar(language)
    names = [_name_character(character, _get_signs(grammar), language) for character in text]
    pause = grammar.pause if grammar else ", "
    return pause.join(name for name in names if name) or None


def _name_character(character: str, signs: SignNames, language: Language) -> str:
    if character.isdecimal():
        return _say_digit_run(character, language)
    return character.upper() if character.isalpha() else signs.find(character)


def _say_digits(text: str, _: str, language: Language) -> str | None:
    return _say_digit_run(text, language) or None


def _say_telephone(text: str, _: str, language: Language) -> str | None:
    grammar = get_grammar(language)
    groups = re.findall(r"\+|\d+|[^\W\d_]+", text)
    plus = grammar.operators["+"] if grammar else "plus"
    spoken = []
    for group in groups:
        if group.isdecimal():
            spoken += [_say_digit_run(part, language) for part in _split_telephone(group)]
        else:
            spoken.append(plus if group == "+" else group)
    pause = grammar.pause if grammar else ", "
    return pause.join(spoken).replace(plus + pause, plus + " ") if any(map(str.isdecimal, groups)) else None


def _split_telephone(digits: str) -> list[str]:
    """Long runs in groups as they are dictated: the last four, and threes before them."""
    if len(digits) <= 4:
        return [digits]
    head, groups = digits[:-4], [digits[-4:]]
    while head:
        head, group = head[:-3], head[-3:]
        groups.insert(0, group)
    return groups


def _say_cardinal(text: str, _: str, language: Language) -> str | None:
    grammar = get_grammar(language)
    if roman := parse_roman(text):
        return _cardinal(roman, language)
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    mark = grammar.decimal_mark if grammar else "."
    whole, _, decimals = number["whole"].partition(mark)
    digits = re.sub(r"\D", "", whole)
    if len(digits) > MOST_DIGITS // 3 or (decimals and not decimals.isdecimal()):
        return None
    sign = "" if number["sign"] in ("", "+") else "minus " if grammar is None else grammar.minus + grammar.space
    spoken = sign + _cardinal(int(digits or 0), language)
    if not decimals:
        return spoken
    if grammar is None:
        return f"{spoken} point {_say_digit_run(decimals, language)}"
    return grammar.space.join((spoken, grammar.point, grammar.decimals(decimals)))


def _say_ordinal(text: str, _: str, language: Language) -> str | None:
    grammar = get_grammar(language)
    value = parse_roman(text)
    found = _ORDINAL.fullmatch(text)
    if found:
        value = int(re.sub(r"\D", "", found["number"]))
    if not 0 < value < 10_000:
        return None
    if grammar is None:
        return Numbers(language is Language.ENGLISH_GB).ordinal(value)
    return grammar.ordinal(value, feminine=text.endswith(("ª", "a")))


def _say_date(text: str, layout: str, language: Language) -> str | None:
    fields = _parse_date(text, layout or _guess_layout(text, language))
    if fields is None:
        return None
    day, month, year = fields.get("d"), fields.get("m"), fields.get("y")
    if not (1 <= (month or 1) <= 12 and 1 <= (day or 1) <= 31):
        return None
    if year is not None and year < 100:
        year += 2000 if year < 70 else 1900
    grammar = get_grammar(language)
    if day and month and year:
        return _read(f"{year:04}-{month:02}-{day:02}", language)
    if day and month:
        return grammar.date(day, month, None) if grammar else _read(f"{MONTHS[month - 1]} {day}", language)
    if month and year:
        return _say_month(month, year, language)
    return Numbers(False).year(year) if year and grammar is None else None


def _say_month(month: int, year: int, language: Language) -> str:
    grammar = get_grammar(language)
    if grammar is None:
        return f"{MONTHS[month - 1]} {Numbers(False).year(year)}"
    name = grammar.months[month - 1] if grammar.months else ""
    return f"{name} {grammar.integer(str(year))}" if name else _read(f"{year}年{month}月", language)


def _guess_layout(text: str, language: Language) -> str:
    numbers = re.findall(r"\d+", text)
    if numbers and len(numbers[0]) in (4, 8):
        return "ymd"[: len(numbers)] if len(numbers) > 1 else "ymd"
    order = "mdy" if language is Language.ENGLISH_US else "dmy"
    if language in (Language.JAPANESE, Language.MANDARIN):
        order = "md" if len(numbers) == 2 else "ymd"
    return order[: len(numbers)]


def _parse_date(text: str, layout: str) -> dict[str, int] | None:
    """The numbers of a date by the letters of its layout."""
    if not layout or set(layout) - set("dmy") or len(set(layout)) != len(layout) or re.search(r"[^\W\d_]", text):
        return None
    numbers = re.findall(r"\d+", text)
    if len(numbers) == 1 and len(numbers[0]) == sum(_FIELD_LENGTHS[letter] for letter in layout):
        joined, numbers = numbers[0], []
        for letter in layout:
            numbers.append(joined[: _FIELD_LENGTHS[letter]])
            joined = joined[_FIELD_LENGTHS[letter] :]
    if len(numbers) != len(layout) or any(len(number) > 4 for number in numbers):
        return None
    return dict(zip(layout, map(int, numbers), strict=True))


def _say_time(text: str, _: str, language: Language) -> str | None:
    time = _TIME.fullmatch(text)
    if time is None:
        return None
    hour, minute = int(time["hour"]), int(time["minute"] or time["joined"] or 0)
    if hour > 24 or minute > 59:
        return None
    grammar = get_grammar(language)
    if grammar is None:
        seconds = f":{time['second']}" if time["second"] else ""
        half = f" {time['am_pm'][0].lower()}.m." if time["am_pm"] else ""
        return _read(f"{hour}:{minute:02}{seconds}{half}", language)
    if time["am_pm"]:
        hour = hour % 12 + (12 if time["am_pm"][0].lower() == "p" else 0)
    return grammar.time(hour, minute)


def _cardinal(number: int, language: Language) -> str:
    grammar = get_grammar(language)
    return grammar.cardinal(number) if grammar else Numbers(language is Language.ENGLISH_GB).cardinal(number)


def _say_digit_run(digits: str, language: Language) -> str:
    grammar = get_grammar(language)
    return grammar.digits(digits) if grammar else Numbers(False).digits(digits)


def _get_signs(grammar: Grammar | None) -> SignNames:
    return grammar.signs if grammar else SIGNS


def _read(text: str, language: Language) -> str:
    """The spoken form that a text has without the tag."""
    return "".join(span.spoken for span in normalise(text, language))


_KINDS: dict[str, Callable[[str, str, Language], str | None]] = {
    **dict.fromkeys(("characters", "spell-out", "spell", "verbatim", "letters"), _say_characters),
    "digits": _say_digits,
    **dict.fromkeys(("telephone", "phone"), _say_telephone),
    **dict.fromkeys(("cardinal", "number"), _say_cardinal),
    "ordinal": _say_ordinal,
    "date": _say_date,
    "time": _say_time,
}
