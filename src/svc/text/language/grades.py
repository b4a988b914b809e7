"""How well each language is spoken, by measurement: data/grades.json, which bench/slow/grades.py writes."""

import json
from enum import StrEnum
from functools import cache
from importlib.resources import files

from svc.text.language.languages import Language


class Grade(StrEnum):
    GOOD = "good"
    """Understood nearly as well as the languages that the voices were trained on, and natural."""
    FAIR = "fair"
    """Understood, with an accent."""
    NOT_OFFERED = "not_offered"
    """It is read by its own rules, but too much of it is not understood."""
    NOT_MEASURED = "not_measured"
    """As not offered, until it has been measured."""

    @property
    def offered(self) -> bool:
        return self in (Grade.GOOD, Grade.FAIR)


@cache
def find_grade(language: Language) -> Grade:
    """The languages of the built-in voices are what the others are compared with."""
    if language.row is None:
        return Grade.GOOD
    measured = json.loads(files("svc").joinpath("data/grades.json").read_text(encoding="utf-8"))
    return Grade(measured["languages"].get(language, {"grade": Grade.NOT_MEASURED})["grade"])


def list_offered_languages() -> list[Language]:
    return [language for language in Language if language is language.base and find_grade(language).offered]
