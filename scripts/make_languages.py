"""Writes the table of grades into docs/languages.md.

python scripts/make_languages.py
"""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from svc.text.language.grades import Grade, find_grade
from svc.text.language.languages import Language

TARGET = Path(__file__).parent.parent / "docs/languages.md"

_TABLE = re.compile(r"(?<=\n\| language \|)[^\n]*\n(?:\|[^\n]*\n)+")
_HEAD = """ code | grade | Whisper base | Whisper small | DistillMOS | sentences, voices |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The whole page, which a test compares with the file."""
    measured = json.loads(files("svc").joinpath("data/grades.json").read_text(encoding="utf-8"))["languages"]
    best_first = sorted(
        (each for each in Language if each.row), key=lambda each: (list(Grade).index(find_grade(each)), each.name)
    )
    table = _HEAD + "".join(_format_row(each, measured.get(each)) for each in best_first)
    return _TABLE.sub(lambda _: table, TARGET.read_text(encoding="utf-8"), count=1)


def _format_row(language: Language, row: dict[str, Any] | None) -> str:
    name, grade = language.name.capitalize(), find_grade(language).replace("_", " ")
    if row is None:
        return f"| {name} | `{language}` | {grade} | | | | |\n"
    rates = " | ".join(f"{row[each]:.1%}" if each in row else "" for each in ("base", "small"))
    return (
        f"| {name} | `{language}` | {grade} | {rates} | {row['mos']:.2f} | {row['sentences']}, {len(row['voices'])} |\n"
    )


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
