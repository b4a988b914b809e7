"""The grades follow from what listeners heard, and nothing else."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bench import heard
from bench.slow.grades import VOICES, grade, read_transcripts
from svc.text.language.grades import Grade, find_grade, list_offered_languages
from svc.text.language.languages import Language

NEW = [language for language in Language if language.row]


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(files("svc").joinpath("data/grades.json").read_text(encoding="utf-8"))
    return measured


@pytest.mark.parametrize("language", NEW)
def test_a_grade_follows_from_its_figures(language: Language, stored: dict[str, Any]) -> None:
    row = stored["languages"][language]
    assert (row["sentences"], row["voices"]) == (30, VOICES)
    assert find_grade(language) is grade(row, stored["native"])


def test_languages_that_are_good_or_fair_are_offered() -> None:
    offered = list_offered_languages()
    assert Language.GERMAN in offered
    assert Language.VIETNAMESE not in offered
    assert all(find_grade(language).offered == (language in offered) for language in NEW)


def test_a_language_must_be_understood_by_both_listeners_to_be_good() -> None:
    native = {"es": {"base": 0.01, "small": 0.0}}
    assert grade({"base": 0.03, "small": 0.02, "mos": 4.2}, native) is Grade.GOOD
    assert grade({"base": 0.031, "small": 0.0, "mos": 4.2}, native) is Grade.FAIR
    assert grade({"base": 0.0, "small": 0.021, "mos": 4.2}, native) is Grade.FAIR
    assert grade({"base": 0.0, "small": 0.0, "mos": 4.19}, native) is Grade.FAIR
    assert grade({"base": 0.2, "small": 0.151, "mos": 4.5}, native) is Grade.NOT_OFFERED


def test_spelling_is_not_misheard() -> None:
    for said, written, language in (
        ("Wir treffen uns um acht.", "Wir treffen uns um 8", Language.GERMAN),
        ("Die Straße", "die strasse", Language.GERMAN),
        ("Hâlâ sıcak", "hala sıcak", Language.TURKISH),
    ):
        assert heard.spell(said, language) == heard.spell(written, language)
    # In Romanian it is another letter.
    assert heard.spell("când", Language.ROMANIAN) != heard.spell("cand", Language.ROMANIAN)


def test_transcripts_of_a_gpu_are_counted_by_system_language_and_voice(tmp_path: Path) -> None:
    piece = {"system": "after", "row": "de", "voice": "af_heart", "texts": ["Guten Tag.", "Um acht."]}
    lines = [{**piece, "base": "Guten Tag um 8", "small": "Guten Tak um 8"}, {**piece, "base": "", "small": ""}]
    clip = {"system": "after", "row": "de", "voice": "af_heart", "mos": 4.0}
    (tmp_path / "heard.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "clips.jsonl").write_text("".join(json.dumps({**clip, "mos": mos}) + "\n" for mos in (4.0, 5.0)))
    (found,) = read_transcripts(tmp_path).values()
    letters = len("gutentagumacht")
    assert found.characters == 2 * letters
    assert found.wrong == {"base": letters, "small": letters + 1}
    assert found.naturalness == 4.5
