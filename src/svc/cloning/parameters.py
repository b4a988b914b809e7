"""A cloned voice as data: what sets it apart from the mean of the built-in voices. Both engines can speak it."""

import base64
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import StyleTable
from svc.text.language import Language
from svc.voices import built_in

VERSION = 1
STYLE = 128
LAYERS = 11
"""Ten norms of the decoder, in the order in which they run, and the vocoder."""
LARGEST = 8.0  # no style of a voice comes near it; what is beyond was damaged
PITCH_SCALES = (0.4, 2.5)

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class VoiceParameters:
    timbre: Vector
    """[128], added to the first half of the mean voice's style."""
    melody: Vector
    """[128], added to its second half."""
    layers: Vector
    """[11, 128]: how far each layer's timbre strays from the voice's own. All zero is a plain style."""
    pitch_scale: float = 1.0
    """By which the pitch that the melody gives is multiplied."""

    def __post_init__(self) -> None:
        for name, shape in (("timbre", (STYLE,)), ("melody", (STYLE,)), ("layers", (LAYERS, STYLE))):
            value = getattr(self, name)
            if value.shape != shape or not np.all(np.abs(value) <= LARGEST):  # NaN fails the comparison too
                raise ValueError(f"the voice's {name} must be {shape} numbers between {-LARGEST} and {LARGEST}")
        low, high = PITCH_SCALES
        if not low <= self.pitch_scale <= high:
            raise ValueError(f"the voice's pitch_scale must be between {low} and {high}")

    def style_table(self) -> StyleTable:
        """[510, 256], as a built-in voice has it."""
        centre = np.mean([voice.style for voice in built_in()], axis=0)
        table: StyleTable = (centre + np.concatenate([self.timbre, self.melody])).astype(np.float32)
        return table

    def layers_in(self, language: Language) -> Vector:
        """All of them in English; elsewhere only the vocoder's, because the decoder's cost words there."""
        if language.english:
            return self.layers
        return np.concatenate([np.zeros_like(self.layers[:-1]), self.layers[-1:]])

    def to_json(self) -> dict[str, Any]:
        """About 4 kB: the vectors as base64 of little-endian fp16."""
        return {
            "version": VERSION,
            "timbre": _pack(self.timbre),
            "melody": _pack(self.melody),
            "layers": _pack(self.layers),
            "pitch_scale": self.pitch_scale,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Raises `ValueError`, with the reason, on anything but what `to_json` wrote."""
        version = stored.get("version")
        if version != VERSION:
            raise ValueError(f"this voice has version {version!r}; only version {VERSION} is known here")
        try:
            return cls(
                _unpack(stored["timbre"], (STYLE,)),
                _unpack(stored["melody"], (STYLE,)),
                _unpack(stored["layers"], (LAYERS, STYLE)),
                float(stored["pitch_scale"]),
            )
        except (KeyError, TypeError) as problem:
            raise ValueError(f"the voice's parameters are incomplete: {problem}") from problem


def _pack(values: Vector) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _unpack(text: str, shape: tuple[int, ...]) -> Vector:
    values: Vector = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.size != math.prod(shape):
        raise ValueError(f"{math.prod(shape)} numbers were expected, {values.size} are there")
    return values.reshape(shape)
