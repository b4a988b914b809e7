"""The parameters of a cloned voice: how it differs from the mean of the built-in voices. Both engines use them."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from svc.audio.equalizer import BANDS, FLAT, SpectralEnvelope
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_MASK_OFFSET, NO_VOCODER_EMBEDDING, StyleTable
from svc.text.language import Language
from svc.voices.built_in import find_typical_style, load_built_in_voices

VERSION = 1
STYLE = 128
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
        return self.melody + (_native_offset(language.articulation)[STYLE:] if change is None else change)

    def pitch_scale_in(self, language: Language) -> float:
        """The factor that brings the pitch of the language's melody to the person's own."""
        if not language.english and load_accent(language).prosody is not None:
            return self.pitch_scale
        return self.pitch_scale * (MELODY_PITCH[Language.ENGLISH_US] / MELODY_PITCH[language.articulation])

    def layer_offsets_in(self, language: Language) -> Vector:
        """[11, 128], added to the timbre in each layer."""
        if language.english:
            return self.layer_offsets
        layer_offsets: Vector = self.foreign_layer_offsets + articulate(self.timbre, language)
        return layer_offsets

    def loudness_in(self, language: Language) -> float | None:
        """In LUFS; in a language that was not measured, as in those that were. None: in none of them."""
        if not self.loudness:
            return None
        return self.loudness.get(_measured_as(language), sum(self.loudness.values()) / len(self.loudness))

    def is_measured_in(self, language: Language) -> bool:
        return _measured_as(language) in self.loudness

    def with_loudness(self, language: Language, loudness: float) -> Self:
        return replace(self, loudness={**self.loudness, _measured_as(language): loudness})

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


def find_timbre(table: StyleTable) -> Vector:
    """[128]: how the timbre of a built-in voice differs from the mean of all."""
    timbre: Vector = find_typical_style(table)[:STYLE] - _mean_style()[:STYLE]
    return timbre


def find_prosody(table: StyleTable) -> Vector:
    """[128]: how the prosody of a built-in voice differs from the mean of all."""
    prosody: Vector = find_typical_style(table)[STYLE:] - _mean_style()[STYLE:]
    return prosody


def articulate(timbre: Vector, language: Language, accent: "Accent | None" = None) -> Vector:
    """[11, 128], added to this timbre in each layer, so that it is clear in a language that is not its own.

    With another `accent` than the language's for voices that have it not as their own.
    """
    to_native = _native_offset(language.articulation)[:STYLE] - timbre
    to_native -= _gender_axis() * (_gender_axis() @ to_native)
    accent = accent or load_accent(language)
    native_share, timbre_gain = accent.shares[..., None]
    layer_offsets: Vector = accent.offset + native_share * to_native + timbre_gain * timbre
    return layer_offsets


@dataclass(frozen=True, eq=False, slots=True)
class Accent:
    """What all voices have in common in a language that is not their own. It was trained to keep words intelligible."""

    offset: Vector
    """[11, 128], added to the timbre in each layer."""
    shares: Vector
    """[2, 11]: for each layer, how much of the way it goes to the native timbre, and the gain of the voice's own."""
    prosody: Vector | None = None
    """[128], added to the second half of the style. None: built-in voices keep theirs, clones get the native one."""
    prosody_share: float = 0.0
    """How much of its own prosody a voice gives up for it."""


def load_accent(language: Language) -> Accent:
    """The accent that was learned for a language; without one, that of the language that it is articulated like."""
    learned = _load_accents()
    return learned[language if language in learned else language.articulation]


def load_native_accent(language: Language) -> Accent | None:
    """What was learned for the voices whose own language it is."""
    return _load_accents().get(f"{language} native")


def shift_prosody(prosody: Vector, accent: Accent) -> Vector | None:
    """[128], added to this prosody in a language with this accent: the pitch stays. None: no prosody was learned."""
    if accent.prosody is None:
        return None
    change: Vector = accent.prosody - np.float32(accent.prosody_share) * prosody
    return change - _pitch_axis() * (_pitch_axis() @ change)


@cache
def _load_accents() -> dict[str, Accent]:
    """The accents by language: every language but English that has voices of its own, and those learned since."""
    learned = _read_accents()
    names = {key.removesuffix(" offset") for key in learned if key.endswith(" offset")}
    return {
        name: Accent(
            learned[f"{name} offset"],
            learned[f"{name} shares"],
            learned.get(f"{name} prosody"),
            float(learned.get(f"{name} prosody_share", 0.0)),
        )
        for name in names
    }


@cache
def _pitch_axis() -> Vector:
    """[128], of length one: the direction in which the prosody half of a style changes the pitch."""
    return _read_accents()["pitch axis"]


@cache
def _read_accents() -> dict[str, Vector]:
    with np.load(BytesIO(files("svc").joinpath("data/accents.npz").read_bytes())) as stored:
        return {name: stored[name].astype(np.float32) for name in stored}


def _measured_as(language: Language) -> Language:
    """British English has the parameters of American English, and nearly the same sounds."""
    return Language.ENGLISH_US if language.english else language


def _derive_foreign_layer_offsets(layer_offsets: Vector) -> Vector:
    """For voices whose offsets were learned with English only: in other languages, half of them keeps words clear."""
    decoder, vocoder = layer_offsets[:-1], layer_offsets[-1:]
    return np.concatenate([decoder * np.float32(0.5), vocoder])


@cache
def _native_offset(language: Language) -> Vector:
    """[256]: the mean style of the language's own voices, minus that of all voices."""
    voices = load_built_in_voices()
    native = [voice.typical_style for voice in voices if voice.language is language]
    offset: Vector = np.mean(native, axis=0) - _mean_style()
    return offset


@cache
def _mean_style() -> Vector:
    """[256]: the mean of all built-in voices."""
    mean: Vector = np.mean([voice.typical_style for voice in load_built_in_voices()], axis=0)
    return mean


@cache
def _gender_axis() -> Vector:
    """[128], of length one: the direction from the mean timbre of women to that of men."""
    voices = load_built_in_voices()
    women, men = (
        np.mean([voice.typical_style[:STYLE] for voice in voices if voice.gender == gender], axis=0)
        for gender in ("female", "male")
    )
    axis: Vector = (men - women) / np.linalg.norm(men - women)
    return axis


def _pack(values: Vector) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _unpack(text: str, shape: tuple[int, ...]) -> Vector:
    values: Vector = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.size != math.prod(shape):
        raise ValueError(f"{math.prod(shape)} numbers were expected, {values.size} are there")
    return values.reshape(shape)
