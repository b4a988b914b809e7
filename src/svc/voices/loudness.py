"""How loud voices speak, as measured, and the gain that brings all of them to one loudness.

The figures are in data/loudness.json, which scripts/measure_loudness.py makes.
"""

import json
from functools import cache
from importlib.resources import files
from statistics import mean

from svc.text.language import Language

TARGET_LUFS = -23.0
"""The loudness of every voice in every language."""
MAX_GAIN_DB = 20.0

_FIGURES = "data/loudness.json"


@cache
def _load_figures() -> dict[str, dict[str, dict[str, float]]]:
    figures: dict[str, dict[str, dict[str, float]]] = json.loads(files("svc").joinpath(_FIGURES).read_text())
    return figures


def find_built_in_loudness(key: str, language: Language) -> float | None:
    """Of a built-in voice; in a language that was not measured, its mean over the others."""
    measured = _load_figures()["voices"].get(key)
    return measured.get(language.value, mean(measured.values())) if measured else None


def to_clone_loudness(preview_loudness: float, language: Language) -> float:
    """How loud a clone speaks English, from the loudness of its preview in any language."""
    return preview_loudness - _load_figures()["preview_of_clones"].get(language.value, 0.0)


def find_clone_loudness(loudness: float, language: Language) -> float:
    """How loud a clone speaks a language, if it speaks English that loud."""
    return loudness + _load_figures()["clones"].get(language.value, 0.0)


def find_gain(loudness: float | None) -> float:
    """In dB; none for a voice that was not measured yet."""
    return 0.0 if loudness is None else min(max(TARGET_LUFS - loudness, -MAX_GAIN_DB), MAX_GAIN_DB)
