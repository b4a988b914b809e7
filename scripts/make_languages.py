"""Makes docs/languages.md from the table of languages and their grades.

python scripts/make_languages.py
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from svc.text.grades import Grade, find_grade
from svc.text.language import Language

TARGET = Path(__file__).parent.parent / "docs/languages.md"

_HEAD = """# Languages

Any voice, built-in or cloned, speaks any of these languages. `language_code` names one (`de`, `de-AT`, `deu`); without it,
each sentence is read in the voice's language unless it is clearly in another ([how that is
told](g2p.md#which-language-a-text-is-in)).

The built-in voices have English (American and British), Spanish, French, Hindi, Italian, Japanese, Brazilian Portuguese and
Mandarin as their own. In the others, phonemes come from espeak-ng (Korean: our own rules), numbers, dates, times, money and
units are read in the language, and the layers of the engine that articulate take the timbre of voices whose own language is
near: a voice keeps its sound, and has an accent.

## Grades

A grade comes from measurement alone: two listeners transcribe sentences that no training has seen.

| grade | |
|---|---|
| good | both listeners mishear at most two points more characters than of voices in their own language, and DistillMOS is at least 4.2 |
| fair | understood, with an accent: the better listener mishears at most 15 % of the characters, and DistillMOS is at least 3.5 |
| not offered | more than that is not understood |
| not measured | not offered until it has been measured |

Languages that are *good* or *fair* are listed in `languages` of `GET /v1/models` and in `verified_languages` of every voice,
with their grade. The others are read by their own rules all the same if a request names them or a text is in them, and never
in silence: the header `x-svc-language` and the request log say so ([API](api.md#speech)).

| language | code | grade | Whisper base | Whisper small | DistillMOS | sentences, voices |
|---|---|---|---|---|---|---|
"""

_TAIL = """
Whisper's columns are characters wrong, over all voices. `python -m bench.slow.grades --language de` measures a language
again and writes its grade; the latest tables are in [benchmarks](benchmarks/README.md).

## Adding or changing a language

`src/svc/data/languages.toml` has one section for each: names, espeak-ng's voice, replacements of its symbols, the language
whose voices articulate it, abbreviations, and how dates and times are put together. Number words come from CLDR through
unicode-rbnf (MIT), names of months, units and currencies through Babel (BSD); both are loaded when such a language is first
spoken. `tests/text/new_language_cases.tsv` has cases for each. An accent that was learned for a language goes into
`src/svc/data/accents.npz` under its code, and is used from then on by all voices.
"""


def page() -> str:
    """The whole page, which a test compares with the file."""
    measured = json.loads(files("svc").joinpath("data/grades.json").read_text(encoding="utf-8"))["languages"]
    order = list(Grade)
    languages = sorted(
        (each for each in Language if each.row), key=lambda each: (order.index(find_grade(each)), each.name)
    )
    return _HEAD + "".join(_format_row(each, measured.get(each)) for each in languages) + _TAIL


def _format_row(language: Language, row: dict[str, Any] | None) -> str:
    name, grade = language.name.capitalize(), find_grade(language).replace("_", " ")
    if row is None:
        return f"| {name} | `{language}` | {grade} | | | | |\n"
    figures = f"{row['base']:.1%} | {row['small']:.1%} | {row['mos']:.2f} | {row['sentences']}, {len(row['voices'])}"
    return f"| {name} | `{language}` | {grade} | {figures} |\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
