"""A cloned voice as data: what sets it apart from the mean of the built-in voices. Both engines can speak it."""

import base64
import math
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from svc.audio.equalizer import BANDS, FLAT, SpectralEnvelope
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_VOCODER_EMBEDDING
from svc.text.language import Language
from svc.voices.catalogue import built_in, usual

VERSION = 1
STYLE = 128
LAYERS = 11
"""Ten norms of the decoder, in the order in which they run, and the vocoder."""
LARGEST = 8.0  # no style of a voice comes near it; what is beyond was damaged
PITCH_SCALES = (0.4, 2.5)

Vector = npt.NDArray[np.float32]

MELODY_PITCH = {
    Language.ENGLISH_US: 171.0,
    Language.ENGLISH_GB: 171.0,
    Language.SPANISH: 148.0,
    Language.FRENCH: 208.0,
    Language.HINDI: 164.0,
    Language.ITALIAN: 151.0,
    Language.JAPANESE: 234.0,
    Language.PORTUGUESE_BR: 151.0,
    Language.MANDARIN: 215.0,
}
"""At which the melody that clones have in a language is heard, in Hz (the median of ten sentences)."""

_BOUNDS = {
    "timbre": ((STYLE,), LARGEST),
    "melody": ((STYLE,), LARGEST),
    "layer_offsets": ((LAYERS, STYLE), LARGEST),
    "foreign_layer_offsets": ((LAYERS, STYLE), LARGEST),
    "equalizer_gains": ((BANDS,), 40.0),
    "vocoder_embedding": (NO_VOCODER_EMBEDDING.shape, LARGEST),
}


@dataclass(frozen=True, eq=False, slots=True)
class VoiceParameters:
    timbre: Vector
    """[128], added to the first half of the mean voice's style."""
    melody: Vector
    """[128], added to its second half."""
    layer_offsets: Vector
    """[11, 128]: how far each layer's timbre strays from the voice's own. All zero is a plain style."""
    pitch_scale: float = 1.0
    """By which the pitch that the mean voice's melody gives is multiplied."""
    equalizer_gains: SpectralEnvelope = field(default_factory=lambda: FLAT)
    """[20], in dB: a filter that its sound passes through."""
    foreign_layer_offsets: Vector = field(default_factory=lambda: NO_LAYER_OFFSETS)
    """[11, 128]: how far the layers stray in other languages than English."""
    vocoder_embedding: Vector = field(default_factory=lambda: NO_VOCODER_EMBEDDING)
    """[256]: what it has of its own in svc-turbo's vocoder, in every language. Kokoro's knows nothing like it."""

    def __post_init__(self) -> None:
        for name, (shape, largest) in _BOUNDS.items():
            value = getattr(self, name)
            if value.shape != shape or not np.all(np.abs(value) <= largest):  # NaN fails the comparison too
                raise ValueError(f"the voice's {name} must be {shape} numbers between {-largest} and {largest}")
        low, high = PITCH_SCALES
        if not low <= self.pitch_scale <= high:
            raise ValueError(f"the voice's pitch_scale must be between {low} and {high}")

    # A style carries an accent, too, and Kokoro's American voices are hard to understand in other languages. There a
    # clone gets the melody of those who speak them, and their timbre in the layers that shape sounds more than they
    # colour them: a woman's if its own is a woman's (training/speaker_encoder/EXPERIMENTS.md has what else was tried).

    def melody_in(self, language: Language) -> Vector:
        """[128], added to the second half of the mean voice's style."""
        return self.melody if language.english else self.melody + _natives(language)[STYLE:]

    def pitch_scale_in(self, language: Language) -> float:
        """By which the pitch that the melody there gives is multiplied, for the person's own."""
        return self.pitch_scale * (MELODY_PITCH[Language.ENGLISH_US] / MELODY_PITCH[language])

    def layer_offsets_in(self, language: Language) -> Vector:
        """[11, 128]: how far each layer's timbre strays from the voice's own."""
        if language.english:
            return self.layer_offsets
        to_native = _natives(language)[:STYLE] - self.timbre
        to_native -= _women_to_men() * (_women_to_men() @ to_native)
        accent = accent_of(language)
        native, bolder = accent.shares[..., None]
        layer_offsets: Vector = self.foreign_layer_offsets + accent.offset + native * to_native + bolder * self.timbre
        return layer_offsets

    def to_json(self) -> dict[str, Any]:
        """About 9 kB: the vectors as base64 of little-endian fp16."""
        return {
            "version": VERSION,
            "timbre": _pack(self.timbre),
            "melody": _pack(self.melody),
            "layers": _pack(self.layer_offsets),
            "pitch_scale": self.pitch_scale,
            "colour": _pack(self.equalizer_gains),
            "abroad": _pack(self.foreign_layer_offsets),
            "grain": _pack(self.vocoder_embedding),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Raises `ValueError`, with the reason, on anything but what `to_json` wrote."""
        version = stored.get("version")
        if version != VERSION:
            raise ValueError(f"this voice has version {version!r}; only version {VERSION} is known here")
        try:
            layer_offsets = _unpack(stored["layers"], (LAYERS, STYLE))
            return cls(
                _unpack(stored["timbre"], (STYLE,)),
                _unpack(stored["melody"], (STYLE,)),
                layer_offsets,
                float(stored["pitch_scale"]),
                # The first voices have none of these.
                _unpack(stored["colour"], (BANDS,)) if "colour" in stored else FLAT,
                _unpack(stored["abroad"], (LAYERS, STYLE))
                if "abroad" in stored
                else _foreign_from_english(layer_offsets),
                _unpack(stored["grain"], NO_VOCODER_EMBEDDING.shape) if "grain" in stored else NO_VOCODER_EMBEDDING,
            )
        except (KeyError, TypeError) as problem:
            raise ValueError(f"the voice's parameters are incomplete: {problem}") from problem


def _foreign_from_english(layer_offsets: Vector) -> Vector:
    """What is made of layers that were learned with English alone: elsewhere words bear only half of their straying."""
    decoder, vocoder = layer_offsets[:-1], layer_offsets[-1:]
    return np.concatenate([decoder * np.float32(0.5), vocoder])


@cache
def _natives(language: Language) -> Vector:
    """[256]: how the voices of a language differ from all of them."""
    everybody = built_in()
    natives = [usual(voice) for voice in everybody if voice.language is language]
    offset: Vector = np.mean(natives, axis=0) - np.mean([usual(voice) for voice in everybody], axis=0)
    return offset


@dataclass(frozen=True, eq=False, slots=True)
class Accent:
    """How everybody's layers change in a language. It was trained with the clones, for their words."""

    offset: Vector
    """[11, 128]"""
    shares: Vector
    """[2, 11]: how much each layer has of natives' timbre instead of the person's, and of the person's besides."""


@cache
def accent_of(language: Language) -> Accent:
    """Of any language but English."""
    learned = np.load(BytesIO(files("svc").joinpath("data/accents.npz").read_bytes()))
    return Accent(*(learned[f"{language} {part}"].astype(np.float32) for part in ("offset", "shares")))


@cache
def _women_to_men() -> Vector:
    """[128], of length one: what sets men's timbres apart from women's."""
    women, men = (
        np.mean([usual(voice)[:STYLE] for voice in built_in() if voice.gender == gender], axis=0)
        for gender in ("female", "male")
    )
    way: Vector = (men - women) / np.linalg.norm(men - women)
    return way


def _pack(values: Vector) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _unpack(text: str, shape: tuple[int, ...]) -> Vector:
    values: Vector = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.size != math.prod(shape):
        raise ValueError(f"{math.prod(shape)} numbers were expected, {values.size} are there")
    return values.reshape(shape)
