"""The table of the languages that espeak-ng phonemizes and no built-in voice was trained on: data/languages.toml."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a language adds to CLDR's numbers and names: the file says what each field is."""

    point: str
    minus: str
    to: str
    plus: str
    times: str
    by: str
    equals: str
    at: str
    dot: str
    slash: str
    hyphen: str
    underscore: str
    conjunction: str
    decimal: str = ","
    cardinal: str = "spellout-numbering"
    day: str = ""
    year: str = "spellout-numbering-year"
    ordinals: list[str] = field(default_factory=list)
    tens: list[str] = field(default_factory=list)
    cardinal_tens: bool = False
    days: list[str] = field(default_factory=list)
    months: list[str] = field(default_factory=list)
    date: str = "{day} {month} {year}"
    day_month: str = "{day} {month}"
    hour: str = "{hour}"
    time: str = "{hour} {minute}"
    one: str = ""
    marks: dict[str, str] = field(default_factory=dict)
    percent: str = ""
    digit_decimals: bool = False
    plain_letters: bool = False
    counters: str = ""
    counter: str = ""
    feminine: str = ""
    neuter: str = ""
    units: dict[str, str] = field(default_factory=dict)
    money: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRow:
    """One row of the table: the file says what each field is."""

    names: list[str]
    locale: str
    espeak: str
    articulation: str
    preview: str
    reading: Reading
    lightness: float = 0.5
    symbols: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    clearer: dict[str, str] = field(default_factory=dict)
    stressed: list[str] = field(default_factory=list)
    abbreviations: dict[str, str] = field(default_factory=dict)
    may_end: list[str] = field(default_factory=list)
    nouns: list[str] = field(default_factory=list)


@cache
def load_table() -> dict[str, LanguageRow]:
    """The rows by language code."""
    rows = tomllib.loads(files("svc").joinpath("data/languages.toml").read_text(encoding="utf-8"))
    return {code: _parse(row) for code, row in rows.items()}


def _parse(row: dict[str, object]) -> LanguageRow:
    reading = row.pop("reading")
    assert isinstance(reading, dict)
    return LanguageRow(reading=Reading(conjunction=reading.pop("and"), **reading), **row)  # type: ignore[arg-type]
