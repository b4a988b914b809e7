"""The parameters of a cloned voice: how it differs from the mean of the built-in voices. Both engines use them."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from svc.audio.equalizer import BANDS, FLAT, SpectralEnvelope
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_MASK_OFFSET, NO_VOCODER_EMBEDDING
from svc.text.language.languages import Language
from svc.voices.accents import articulate, load_accent, load_clone_accent, native_offset, shift_prosody
from svc.voices.built_in import STYLE
from svc.voices.loudness import measured_as

VERSION = 1
LAYERS = 11
"""The ten norms of the decoder, in the order in which they run, and the vocoder."""
LARGEST = 8.0  # no style of a voice comes near it: a larger value is damage
PITCH_SCALES = (0.4, 2.5)
PACES = (0.8, 1.25)
PITCH_RANGES = (0.5, 2.0)
LOUDNESSES = (-60.0, 0.0)

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
"""The pitch of the melody that clones have in a language, in Hz (the median of ten sentences).

A language without voices of its own has the melody of the one that it is articulated like, unless one was learned,
which leaves the pitch as it is.
"""

_BOUNDS = {
    "timbre": ((STYLE,), LARGEST),
    "melody": ((STYLE,), LARGEST),
    "layer_offsets": ((LAYERS, STYLE), LARGEST),
    "foreign_layer_offsets": ((LAYERS, STYLE), LARGEST),
    "equalizer_gains": ((BANDS,), 40.0),
    "vocoder_embedding": (NO_VOCODER_EMBEDDING.shape, LARGEST),
    "mask_offset": (NO_MASK_OFFSET.shape, LARGEST),
}
_LANGUAGE_CODES = {language.value for language in Language}
_RANGES = {"pitch_scale": PITCH_SCALES, "pace": PACES, "pitch_range": PITCH_RANGES}


@dataclass(frozen=True, eq=False, slots=True)
class VoiceParameters:
    timbre: Vector
    """[128], added to the first half of the mean style."""
    melody: Vector
    """[128], added to the second half of the mean style."""
    layer_offsets: Vector
    """[11, 128], added to the timbre in each layer. Zero: every layer has the timbre of the style."""
    pitch_scale: float = 1.0
    """The factor by which the pitch of the mean voice's melody is multiplied."""
    equalizer_gains: SpectralEnvelope = field(default_factory=lambda: FLAT)
    """[20], in dB: the equalizer that the audio of the voice passes through."""
    foreign_layer_offsets: Vector = field(default_factory=lambda: NO_LAYER_OFFSETS)
    """[11, 128]: the layer offsets in languages other than English."""
    vocoder_embedding: Vector = field(default_factory=lambda: NO_VOCODER_EMBEDDING)
    """[256]: conditions svc-turbo's vocoder, in every language. Kokoro's vocoder has no such input."""
    pace: float = 1.0
    """The factor by which the person speaks faster than the mean voice."""
    pitch_range: float = 1.0
    """The factor by which the person's melody is wider than that of the mean voice."""
    loudness: Mapping[Language, float] = field(default_factory=dict)
    """In LUFS, without any gain: in each language in which it was measured."""
    mask_offset: Vector = field(default_factory=lambda: NO_MASK_OFFSET)
    """[2408], added to the spectral masks of svc-turbo's vocoder, in every language. Others have no such input."""

    def __post_init__(self) -> None:
        for name, (shape, largest) in _BOUNDS.items():
            value = getattr(self, name)
            if value.shape != shape or not np.all(np.abs(value) <= largest):  # NaN fails the comparison too
                raise ValueError(f"the voice's {name} must be {shape} numbers between {-largest} and {largest}")
        for name, (low, high) in _RANGES.items():
            number = getattr(self, name)
            if not low <= number <= high:
                raise ValueError(f"the voice's {name} must be between {low} and {high}")
        low, high = LOUDNESSES
        if not all(low <= each <= high for each in self.loudness.values()):
            raise ValueError(f"the voice's loudness must be between {low} and {high}")

    @classmethod
    def mean(cls, weighted: Sequence[tuple["VoiceParameters", float]]) -> Self:
        """The weighted mean of voices; of none, the mean voice itself."""
        total = sum(weight for _, weight in weighted) or 1.0
        shares = [(parameters, np.float32(weight / total)) for parameters, weight in weighted]

        def mean(name: str) -> Vector:
            zero: Vector = np.zeros(_BOUNDS[name][0], dtype=np.float32)
            return sum((share * getattr(parameters, name) for parameters, share in shares), start=zero)

        def geometric_mean(name: str) -> float:
            return math.exp(sum(share * math.log(getattr(parameters, name)) for parameters, share in shares))

        def mean_loudness(language: Language) -> float:
            return float(sum(share * (parameters.loudness_in(language) or 0.0) for parameters, share in shares))

        measured = all(parameters.loudness for parameters, _ in shares)
        languages = {language for parameters, _ in shares for language in parameters.loudness if measured}
        return cls(
            pitch_scale=geometric_mean("pitch_scale"),
            pace=geometric_mean("pace"),
            pitch_range=geometric_mean("pitch_range"),
            loudness={language: mean_loudness(language) for language in languages},
            **{name: mean(name) for name in _BOUNDS},
        )

    # A style carries an accent, too: Kokoro's American voices are hard to understand in other languages. There a clone
    # gets the mean melody of the language's own voices, and their mean timbre in the layers that decide pronunciation
    # more than timbre, without the part of it that depends on gender (training/speaker_encoder/EXPERIMENTS.md
    # has what else was tried). Built-in voices do the same.

    def melody_in(self, language: Language) -> Vector:
        """[128], added to the second half of the mean style."""
        if language.english:
            return self.melody
        change = shift_prosody(self.melody, load_accent(language))
        return self.melody + (native_offset(language.articulation)[STYLE:] if change is None else change)

    def pitch_scale_in(self, language: Language) -> float:
        """The factor that brings the pitch of the language's melody to the person's own."""
        if not language.english and load_accent(language).prosody is not None:
            return self.pitch_scale
        return self.pitch_scale * (MELODY_PITCH[Language.ENGLISH_US] / MELODY_PITCH[language.articulation])

    def layer_offsets_in(self, language: Language) -> Vector:
        """[11, 128], added to the timbre in each layer."""
        if language.english:
            return self.layer_offsets
        accent = load_clone_accent(language)
        return np.float32(accent.clone_gain) * self.foreign_layer_offsets + articulate(self.timbre, language, accent)

    def loudness_in(self, language: Language) -> float | None:
        """In LUFS; in a language that was not measured, as in those that were. None: in none of them."""
        if not self.loudness:
            return None
        return self.loudness.get(measured_as(language), sum(self.loudness.values()) / len(self.loudness))

    def is_measured_in(self, language: Language) -> bool:
        return measured_as(language) in self.loudness

    def with_loudness(self, language: Language, loudness: float) -> Self:
        return replace(self, loudness={**self.loudness, measured_as(language): loudness})

    def to_json(self) -> dict[str, Any]:
        """9 to 16 kB: the vectors as base64 of little-endian fp16. The keys are those of the first release.

        What a release adds has a default, and is only written if it differs: releases before ignore what they do not
        know, and the version stays the same. They drop it when they change the voice.
        """
        loudness = {language.value: each for language, each in sorted(self.loudness.items())}
        factors = {name: each for name in ("pace", "pitch_range") if (each := getattr(self, name)) != 1.0}
        return {
            "version": VERSION,
            "timbre": _pack(self.timbre),
            "melody": _pack(self.melody),
            "layers": _pack(self.layer_offsets),
            "pitch_scale": self.pitch_scale,
            "colour": _pack(self.equalizer_gains),
            "abroad": _pack(self.foreign_layer_offsets),
            "grain": _pack(self.vocoder_embedding),
            **factors,
            **({"mask": _pack(self.mask_offset)} if self.mask_offset.any() else {}),
            **({"loudness": loudness} if loudness else {}),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Raises `ValueError`, with the reason, on anything but what `to_json` wrote; unknown keys are ignored."""
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
                # The oldest voices have none of these.
                _unpack(stored["colour"], (BANDS,)) if "colour" in stored else FLAT,
                _unpack(stored["abroad"], (LAYERS, STYLE))
                if "abroad" in stored
                else _derive_foreign_layer_offsets(layer_offsets),
                _unpack(stored["grain"], NO_VOCODER_EMBEDDING.shape) if "grain" in stored else NO_VOCODER_EMBEDDING,
                float(stored.get("pace", 1.0)),
                float(stored.get("pitch_range", 1.0)),
                # Later releases may know further languages.
                {
                    Language(code): float(each)
                    for code, each in stored.get("loudness", {}).items()
                    if code in _LANGUAGE_CODES
                },
                _unpack(stored["mask"], NO_MASK_OFFSET.shape) if "mask" in stored else NO_MASK_OFFSET,
            )
        except (KeyError, TypeError, AttributeError) as problem:
            raise ValueError(f"the voice's parameters are incomplete: {problem}") from problem


def _derive_foreign_layer_offsets(layer_offsets: Vector) -> Vector:
    """For voices whose offsets were learned with English only: in other languages, half of them keeps words clear."""
    decoder, vocoder = layer_offsets[:-1], layer_offsets[-1:]
    return np.concatenate([decoder * np.float32(0.5), vocoder])


def _pack(values: Vector) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _unpack(text: str, shape: tuple[int, ...]) -> Vector:
    values: Vector = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.size != math.prod(shape):
        raise ValueError(f"{math.prod(shape)} numbers were expected, {values.size} are there")
    return values.reshape(shape)
