"""A watermark that one does not hear: who knows the pattern finds it in what custom voices have said.

Between 750 Hz and 7 kHz the loudness of each of 50 bands is raised or lowered by less than a decibel, for 60 ms at a
time, in a pattern that looks like chance. What is quiet is changed by little, what is loud by more, so speech hides it.
One such change proves nothing. Eight hundred a second do, and they outlive what spares the speech itself: MP3 and Opus,
another sample rate, cutting. Filtering them out on purpose is possible: this informs people, it does not stop anybody.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import Samples

RATE = 24_000

_FRAME, _HOP = 960, 480
_CHIP = 3  # hops that one step of the pattern lasts: 60 ms
_STEPS = 32  # until the pattern begins again: 1.92 s
_BAND, _FIRST, _BANDS = 5, 30, 50  # bins of 25 Hz: bands of 125 Hz from 750 Hz on
_DEPTH = 0.7  # dB up or down
_EDGE = 120  # samples over which the mark fades in and out at the edges of a chunk
_KEY = 0x5BC1

_LOOKS = 2  # at each hop, when the mark is looked for
_PERIOD = _STEPS * _CHIP * _LOOKS
_SPAN = 15.0  # seconds that are looked at together
_DECOYS = 100
_OUTLIER = 0.6
_DOUBT = 1e-6

Array = npt.NDArray[np.float64]


def mark(samples: Samples, position: int) -> Samples:
    """The samples with the mark in them; `position` is how many came before, so that chunks continue the pattern."""
    if len(samples) < 2 * _EDGE:
        return samples
    lead = position % _HOP
    count = -(-(lead + len(samples)) // _HOP) + 1
    padded = np.zeros((count + 1) * _HOP, dtype=np.float64)
    padded[_HOP + lead : _HOP + lead + len(samples)] = samples
    window = _window()
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME)[::_HOP] * window
    spectra = np.fft.rfft(frames)
    steps = (position // _HOP - 1 + np.arange(len(frames))) // _CHIP % _STEPS
    bands = slice(_FIRST, _FIRST + _BAND * _BANDS)
    gains = 10 ** (_DEPTH / 20 * _pattern(_KEY)[steps])
    spectra[:, bands] *= np.repeat(gains, _BAND, axis=1) - 1
    spectra[:, : bands.start] = 0
    spectra[:, bands.stop :] = 0
    change = np.zeros(len(padded))
    for offset, frame in enumerate(np.fft.irfft(spectra) * window):
        change[offset * _HOP : offset * _HOP + _FRAME] += frame
    fade = np.ones(len(samples))
    fade[:_EDGE] = np.linspace(0, 1, _EDGE)
    fade[-_EDGE:] = np.linspace(1, 0, _EDGE)
    marked: Samples = (samples + fade * change[_HOP + lead : _HOP + lead + len(samples)]).astype(np.float32)
    return marked


@dataclass(frozen=True, slots=True)
class Finding:
    found: bool
    doubt: float
    """The chance that sound without the mark looks as much like it has one."""


def check(samples: Samples) -> Finding:
    """Whether the mark is in these samples, which come at `RATE`."""
    span = int(_SPAN * RATE)
    starts = range(0, max(1, len(samples) - span // 2), span // 2)
    doubts = [_doubt(samples[start : start + span]) for start in starts]
    doubt = min(1.0, min(doubts) * len(doubts))
    return Finding(doubt < _DOUBT, doubt)


def _doubt(samples: Samples) -> float:
    """How well the pattern fits, at whatever place it begins, beside patterns that cannot be there."""
    if len(samples) < RATE:
        return 1.0
    levels = _levels(samples)
    folded = np.zeros((_PERIOD, _BANDS))
    np.add.at(folded, np.arange(len(levels)) % _PERIOD, levels)
    spectrum = np.fft.rfft(folded, axis=0)
    own = _fits(spectrum, _KEY).max()
    others = np.concatenate([_fits(spectrum, _KEY + 1 + decoy) for decoy in range(_DECOYS)])
    deviation = (own - others.mean()) / (others.std() + 1e-12)
    return min(1.0, _PERIOD * 0.5 * math.erfc(deviation / math.sqrt(2)))


def _levels(samples: Samples) -> Array:
    """What each band does, at each look, that its neighbours in time and pitch do not."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[:: _HOP // _LOOKS] * _window()
    power = np.abs(np.fft.rfft(frames)) ** 2
    bands = power[:, _FIRST : _FIRST + _BAND * _BANDS].reshape(len(frames), _BANDS, _BAND).sum(axis=2)
    levels: Array = np.log10(bands + 1e-5 * bands.max(axis=0) + 1e-9)
    levels -= _smoothed(levels, 4 * _CHIP * _LOOKS + 1, axis=0)
    levels -= _smoothed(levels, 5, axis=1)
    np.clip(levels, -_OUTLIER, _OUTLIER, out=levels)
    return levels


def _smoothed(levels: Array, width: int, axis: int) -> Array:
    kernel = np.ones(width) / width
    weight = np.convolve(np.ones(levels.shape[axis]), kernel, "same")
    smooth: Array = np.apply_along_axis(np.convolve, axis, levels, kernel, "same")
    smooth /= weight[:, None] if axis == 0 else weight
    return smooth


def _fits(spectrum: npt.NDArray[np.complex128], key: int) -> Array:
    """How well a pattern fits at each place where it may begin."""
    steps = np.repeat(_pattern(key), _CHIP * _LOOKS, axis=0)
    fits: Array = np.fft.irfft((spectrum * np.fft.rfft(steps, axis=0).conj()).sum(axis=1), _PERIOD)
    return fits


@cache
def _pattern(key: int) -> Array:
    """Up (1) or down (-1) for each step and band; every second step undoes the one before."""
    half = np.random.default_rng(key).integers(0, 2, (_STEPS // 2, _BANDS)) * 2.0 - 1.0
    return np.stack([half, -half], axis=1).reshape(_STEPS, _BANDS)


@cache
def _window() -> Array:
    return np.sqrt(np.hanning(_FRAME + 1)[:-1])
