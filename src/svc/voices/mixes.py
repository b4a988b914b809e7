"""Mixes of voices as ids: `af_bella(3)+af_nicole(1)` is three parts of the one and one part of the other."""

import math
import re
from collections.abc import Sequence

from svc.errors import VoiceNotFound

MAX_PARTS = 8
MAX_WEIGHT = 1000.0
_MAX_LENGTH = 500
_PART = re.compile(r"(?P<voice>.+?)\s*(?:\((?P<weight>[0-9.]*)\))?", re.DOTALL)


def is_mix(voice_id: str) -> bool:
    """Whether an id that is not the name of a voice means a mix."""
    return "+" in voice_id or voice_id.rstrip().endswith(")")


def parse_mix(voice_id: str) -> list[tuple[str, float]]:
    """The ids of the voices and their weights; raises `VoiceNotFound` with the reason."""
    written = voice_id.split("+", MAX_PARTS)
    if len(written) > MAX_PARTS or len(voice_id) > _MAX_LENGTH:
        raise VoiceNotFound(voice_id, f"A mix has at most {MAX_PARTS} voices and {_MAX_LENGTH} characters.")
    return [_parse_part(part.strip(), voice_id) for part in written]


def _parse_part(part: str, voice_id: str) -> tuple[str, float]:
    match = _PART.fullmatch(part)
    weight = _parse_weight(match["weight"]) if match else None
    if match is None or weight is None or not 0 < weight <= MAX_WEIGHT:
        reason = f"A mix is written like af_bella(3)+af_nicole(1), with weights above 0 and up to {MAX_WEIGHT:g}."
        raise VoiceNotFound(voice_id, reason)
    return match["voice"], weight


def _parse_weight(written: str | None) -> float | None:
    if written is None:
        return 1.0
    try:
        weight = float(written)
    except ValueError:
        return None
    return weight if math.isfinite(weight) else None


def write_mix(parts: Sequence[tuple[str, float]]) -> str:
    """The id of a mix."""
    return "+".join(voice if weight == 1.0 else f"{voice}({weight:g})" for voice, weight in parts)


def describe_mix(parts: Sequence[tuple[str, float]]) -> str:
    """The names of the voices and their shares."""
    total = sum(weight for _, weight in parts)
    return " + ".join(f"{name} {weight / total:.0%}" for name, weight in parts)
