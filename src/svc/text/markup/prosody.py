"""How a part of the text is spoken: rate, pitch, volume, voice and language, as markup and audio tags ask for it."""

import math
import re
from dataclasses import dataclass
from typing import Self

# Beyond these the engine is hard to understand, or no longer sounds like the voice.
SLOWEST, FASTEST = 0.5, 2.0
LOWEST, HIGHEST = 0.6, 1.7
NARROWEST, WIDEST = 0.3, 2.2
QUIETEST_DB, LOUDEST_DB = -30.0, 9.0
SILENT_DB = -math.inf

# Between a low and a high speaking voice. A pitch in Hz is a factor relative to it, or to that of the voice's gender.
MEAN_HERTZ = 160.0


@dataclass(frozen=True, slots=True)
class Prosody:
    """Factors on what the voice would do by itself. The defaults leave it as it is."""

    rate: float = 1.0
    pitch: float = 1.0
    pitch_range: float = 1.0
    """How wide the melody is: below 1 is calmer, above 1 livelier."""
    volume: float = 0.0
    """In dB; minus infinity is silent."""
    hertz: float | None = None
    """The mean pitch, if it was given in Hz; `pitch` is then relative to it."""

    def combine(self, inner: Self) -> "Prosody":
        """The prosody of text that stands inside of both."""
        return Prosody(
            min(max(self.rate * inner.rate, SLOWEST), FASTEST),
            min(max(self.pitch * inner.pitch, LOWEST), HIGHEST),
            min(max(self.pitch_range * inner.pitch_range, NARROWEST), WIDEST),
            _clamp_volume(self.volume + inner.volume),
            inner.hertz or self.hertz,
        )


PLAIN = Prosody()


@dataclass(frozen=True, slots=True)
class Manner:
    """How the text is spoken from some position on. The defaults are what the request says."""

    prosody: Prosody = PLAIN
    voice: str = ""
    """The name of another voice."""
    language: str = ""
    """The code of the language, if markup names it."""


DEFAULT_MANNER = Manner()

RATES = {"x-slow": 0.6, "slow": 0.8, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.6}
PITCHES = {"x-low": 0.75, "low": 0.87, "medium": 1.0, "default": 1.0, "high": 1.13, "x-high": 1.3}
RANGES = {"x-low": 0.4, "low": 0.7, "medium": 1.0, "default": 1.0, "high": 1.4, "x-high": 1.8}
VOLUMES = {
    "silent": SILENT_DB, "x-soft": -12.0, "soft": -6.0, "medium": 0.0, "default": 0.0, "loud": 4.0, "x-loud": 8.0,
}  # fmt: skip
EMPHASES = {
    "strong": Prosody(rate=0.86, pitch=1.05, pitch_range=1.3, volume=3.0),
    "moderate": Prosody(rate=0.93, pitch=1.02, pitch_range=1.15, volume=1.5),
    "none": PLAIN,
    "reduced": Prosody(rate=1.08, pitch_range=0.8, volume=-3.0),
}

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})\s*(?P<unit>%|hz|st|db|)", re.IGNORECASE
)


def parse_prosody(attributes: dict[str, str], outer: Prosody) -> Prosody:
    """The prosody of the text in a `<prosody>` element, which stands in text that is spoken like `outer`.

    A word ("slow") is relative to the voice, everything else to the text around the element.
    """
    rate = _parse_factor(attributes.get("rate", ""), RATES, outer.rate)
    pitch = _parse_factor(attributes.get("pitch", ""), PITCHES, outer.pitch)
    pitch_range = _parse_factor(attributes.get("range", ""), RANGES, outer.pitch_range)
    volume = _parse_volume(attributes.get("volume", ""), outer.volume)
    hertz = _parse_hertz(attributes.get("pitch", ""))
    given = Prosody(rate, 1.0 if hertz else pitch, pitch_range, volume, hertz or outer.hertz)
    return PLAIN.combine(given)


def parse_emphasis(attributes: dict[str, str], outer: Prosody) -> Prosody:
    return outer.combine(EMPHASES.get(attributes.get("level", "").strip().lower(), EMPHASES["moderate"]))


def _parse_factor(value: str, words: dict[str, float], outer: float) -> float:
    """The factor that a value stands for; `outer` if it cannot be understood."""
    value = value.strip().lower()
    if value in words:
        return words[value]
    quantity = _QUANTITY.fullmatch(value)
    if quantity is None:
        return outer
    number, unit, sign = float(quantity["number"]), quantity["unit"], -1 if quantity["sign"] == "-" else 1
    if unit == "st":
        return outer * 2 ** (sign * min(number, 24.0) / 12)
    if unit == "hz":
        return outer * max(1 + sign * number / MEAN_HERTZ, 0.1) if quantity["sign"] else outer
    if unit == "db":
        return outer
    share = number / 100 if unit else number
    if quantity["sign"] and (unit or share <= 1):
        return outer * max(1 + sign * share, 0.01)
    # "20%" for the pitch means 20 % higher, but "120%" is a factor.
    is_increase = bool(unit) and words is not RATES and number < 50
    return outer * (1 + share if is_increase else max(share, 0.01))


def _parse_hertz(value: str) -> float | None:
    """The mean pitch, if it is given as an absolute value."""
    quantity = _QUANTITY.fullmatch(value.strip())
    if quantity is None or quantity["sign"] or quantity["unit"].lower() != "hz":
        return None
    return min(max(float(quantity["number"]), 50.0), 500.0)


def _parse_volume(value: str, outer: float) -> float:
    """In dB. Besides SSML 1.1 it takes what 1.0 knew: 0 to 100, and relative percentages."""
    value = value.strip().lower()
    if value in VOLUMES:
        return VOLUMES[value]
    quantity = _QUANTITY.fullmatch(value)
    if quantity is None or quantity["unit"] in ("hz", "st"):
        return outer
    number, sign = float(quantity["number"]), -1 if quantity["sign"] == "-" else 1
    if quantity["unit"] == "db":
        return _clamp_volume(outer + sign * number)
    factor = max(1 + sign * number / 100, 0.0) if quantity["sign"] else number / 100
    return _clamp_volume(outer + 20 * math.log10(factor)) if factor else SILENT_DB


def _clamp_volume(decibels: float) -> float:
    return decibels if decibels == SILENT_DB else min(max(decibels, QUIETEST_DB), LOUDEST_DB)
