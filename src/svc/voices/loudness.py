"""How loud voices speak, as measured, and the gain that brings all of them to one loudness."""

import json
from functools import cache
from importlib.resources import files
from typing import TypedDict

from svc.audio.loudness import measure_loudness
from svc.audio.samples import Samples
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS

TARGET_LUFS = -23.0
"""The loudness of every voice in every language."""
MAX_GAIN_DB = 20.0

CALIBRATION_TEXTS = {
    Language.ENGLISH_US: "The path along the river was still wet, so we walked slowly. "
    "Nobody in the village could remember such a warm October.",
    Language.SPANISH: "El camino junto al río aún estaba mojado, así que andábamos despacio. "
    "Nadie en el pueblo recordaba un octubre tan cálido.",
    Language.FRENCH: "Le chemin le long de la rivière était encore mouillé, alors nous marchions lentement. "
    "Personne au village ne se souvenait d'un octobre aussi doux.",
    Language.HINDI: "नदी के किनारे का रास्ता अब भी गीला था, इसलिए हम धीरे-धीरे चल रहे थे। "
    "गाँव में किसी को इतना गर्म अक्टूबर याद नहीं था।",
    Language.ITALIAN: "Il sentiero lungo il fiume era ancora bagnato, quindi camminavamo piano. "
    "Nessuno in paese ricordava un ottobre così caldo.",
    Language.JAPANESE: "川沿いの道はまだ濡れていたので、私たちはゆっくり歩きました。"
    "村の誰も、こんなに暖かい十月を覚えていませんでした。",
    Language.PORTUGUESE_BR: "O caminho ao longo do rio ainda estava molhado, então andávamos devagar. "
    "Ninguém na vila se lembrava de um outubro tão quente.",
    Language.MANDARIN: "河边的小路还是湿的，所以我们走得很慢。村里没有人记得这么温暖的十月。",
}
"""What a clone says, after its preview, to measure its loudness: a few seconds of one text alone may be 1 dB off."""
CALIBRATION_TEXTS[Language.ENGLISH_GB] = CALIBRATION_TEXTS[Language.ENGLISH_US]


def list_calibration_texts(language: Language) -> list[str]:
    """What a clone says to be measured: its preview, and one text more."""
    preview = PREVIEW_TEXTS[language]
    return [preview, CALIBRATION_TEXTS.get(language, preview)]


class _Figures(TypedDict):
    """What scripts/measure_loudness.py makes."""

    voices: dict[str, dict[str, float]]
    """In LUFS: of each built-in voice, in each language."""
    calibration: dict[str, float]
    """In dB, in each language: by how much what clones are measured with is louder than most, whoever speaks it."""


@cache
def _load_figures() -> _Figures:
    figures: _Figures = json.loads(files("svc").joinpath("data/loudness.json").read_text())
    return figures


def find_built_in_loudness(key: str, language: Language) -> float | None:
    """In LUFS, of a built-in voice."""
    figures = _load_figures()["voices"].get(key)
    return figures[measured_as(language)] if figures else None


def measure_clone(calibration: Samples, rate: int, language: Language) -> float:
    """In LUFS, of a voice that has spoken its preview and the calibration text."""
    return measure_loudness(calibration, rate) - _load_figures()["calibration"][measured_as(language)]


def measured_as(language: Language) -> Language:
    """British English has the parameters of American English, and nearly the same sounds; so has a region of a
    language those of the language."""
    return Language.ENGLISH_US if language.english else language.base


def find_gain(loudness: float | None) -> float:
    """In dB; none for a voice that was not measured yet."""
    return 0.0 if loudness is None else min(max(TARGET_LUFS - loudness, -MAX_GAIN_DB), MAX_GAIN_DB)
