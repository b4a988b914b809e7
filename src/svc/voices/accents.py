"""Accents: what makes a voice clear in a language that is not its own. training/accents learns them."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np

from svc.engine.protocol import Array, StyleTable
from svc.text.language.languages import Language
from svc.voices.built_in import STYLE, find_typical_style, load_built_in_voices

# The accents of languages without voices of their own were trained mostly with built-in voices: they cover much of the
# person in the layers where a clone has offsets of its own. Those were trained with accents that have no native timbre
# there, and about this gain. Clones go half of the way to such an accent, and all of it where that costs hardly any
# words: the `lightness` of a language.
_CLONES_LAYERS = slice(-4, None)
_OFFSET_SHARE, _TIMBRE_GAIN = 0.25, 0.45


def find_timbre(table: StyleTable) -> Array:
    """[128]: how the timbre of a built-in voice differs from the mean of all."""
    timbre: Array = find_typical_style(table)[:STYLE] - _mean_style()[:STYLE]
    return timbre


def find_prosody(table: StyleTable) -> Array:
    """[128]: how the prosody of a built-in voice differs from the mean of all."""
    prosody: Array = find_typical_style(table)[STYLE:] - _mean_style()[STYLE:]
    return prosody


def articulate(timbre: Array, language: Language, accent: "Accent | None" = None) -> Array:
    """[11, 128], added to this timbre in each layer, so that it is clear in a language that is not its own.

    With another `accent` than the language's for voices that have it not as their own.
    """
    to_native = native_offset(language.articulation)[:STYLE] - timbre
    to_native -= gender_axis() * (gender_axis() @ to_native)
    accent = accent or load_accent(language)
    native_share, timbre_gain = accent.shares[..., None]
    layer_offsets: Array = accent.offset + native_share * to_native + timbre_gain * timbre
    return layer_offsets


@dataclass(frozen=True, eq=False, slots=True)
class Accent:
    """What all voices have in common in a language that is not their own. It was trained to keep words intelligible."""

    offset: Array
    """[11, 128], added to the timbre in each layer."""
    shares: Array
    """[2, 11]: for each layer, how much of the way it goes to the native timbre, and the gain of the voice's own."""
    prosody: Array | None = None
    """[128], added to the second half of the style. None: built-in voices keep theirs, clones get the native one."""
    prosody_share: float = 0.0
    """How much of its own prosody a voice gives up for it."""
    clone_gain: float = 1.0
    """The gain of a clone's own layer offsets."""


def load_accent(language: Language) -> Accent:
    """The accent that was learned for a language; without one, that of the language that it is articulated like."""
    learned = _load_accents()
    return learned[language if language in learned else language.articulation]


def load_clone_accent(language: Language) -> Accent:
    """The accent of clones: lighter in the last layers in languages without voices of their own."""
    accent = load_accent(language)
    if not language.row or language not in _load_accents():
        return accent
    light = np.float32(language.row.lightness)
    offset, shares = accent.offset.copy(), accent.shares.copy()
    lightest = np.array([[0.0], [_TIMBRE_GAIN]], dtype=np.float32)
    offset[_CLONES_LAYERS] *= (1 - light) + light * _OFFSET_SHARE
    shares[:, _CLONES_LAYERS] = (1 - light) * shares[:, _CLONES_LAYERS] + light * lightest
    return replace(accent, offset=offset, shares=shares)


def load_native_accent(language: Language) -> Accent | None:
    """What was learned for the voices whose own language it is."""
    return _load_accents().get(f"{language} native")


def shift_prosody(prosody: Array, accent: Accent) -> Array | None:
    """[128], added to this prosody in a language with this accent: the pitch stays. None: no prosody was learned."""
    if accent.prosody is None:
        return None
    change: Array = accent.prosody - np.float32(accent.prosody_share) * prosody
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
            float(learned.get(f"{name} clone_gain", 1.0)),
        )
        for name in names
    }


@cache
def _pitch_axis() -> Array:
    """[128], of length one: the direction in which the prosody half of a style changes the pitch."""
    return _read_accents()["pitch axis"]


@cache
def _read_accents() -> dict[str, Array]:
    with np.load(BytesIO(files("svc").joinpath("data/accents.npz").read_bytes())) as stored:
        return {name: stored[name].astype(np.float32) for name in stored}


@cache
def native_offset(language: Language) -> Array:
    """[256]: the mean style of the language's own voices, minus that of all voices."""
    voices = load_built_in_voices()
    native = [voice.typical_style for voice in voices if voice.language is language]
    offset: Array = np.mean(native, axis=0) - _mean_style()
    return offset


@cache
def _mean_style() -> Array:
    """[256]: the mean of all built-in voices."""
    mean: Array = np.mean([voice.typical_style for voice in load_built_in_voices()], axis=0)
    return mean


@cache
def gender_axis() -> Array:
    """[128], of length one: the direction from the mean timbre of women to that of men."""
    voices = load_built_in_voices()
    women, men = (
        np.mean([voice.typical_style[:STYLE] for voice in voices if voice.gender == gender], axis=0)
        for gender in ("female", "male")
    )
    axis: Array = (men - women) / np.linalg.norm(men - women)
    return axis
