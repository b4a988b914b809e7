"""An inaudible watermark for the speech of custom voices.

Between 750 Hz and 7 kHz the level of each of 50 bands is raised or lowered by less than a decibel, for 60 ms at a time,
in a pseudo-random pattern. The change is proportional to the signal, so speech masks it. A detector that knows the
pattern correlates with it: one change proves nothing, but there are eight hundred a second, and they survive MP3, Opus,
resampling and cutting. They can be removed on purpose: the watermark informs, it does not prevent abuse.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples

RATE = 24_000

_FRAME, _HOP = 960, 480
_HOPS_PER_STEP = 3  # a step of the pattern lasts 60 ms
_STEPS = 32  # in a period of the pattern: 1.92 s
_BAND_BINS, _FIRST_BIN, _BANDS = 5, 30, 50  # bins of 25 Hz: bands of 125 Hz from 750 Hz on
_DEPTH_DB = 0.7  # up or down
_FADE = 120  # samples over which the watermark fades in and out at the ends of a chunk
_KEY = 0x5BC1

_FRAMES_PER_HOP = 2  # in detection
_PERIOD = _STEPS * _HOPS_PER_STEP * _FRAMES_PER_HOP
_SPAN_SECONDS = 15.0  # analysed together
_DECOYS = 100  # patterns that are not embedded, for comparison
_MAX_DEVIATION = 0.6
_MAX_P_VALUE = 1e-6

Array = npt.NDArray[np.float64]


def embed_watermark(samples: Samples, position: int) -> Samples:
    """The samples with the watermark; `position` is how many came before, so that chunks continue the pattern."""
    if len(samples) < 2 * _FADE:
        return samples
    lead = position % _HOP
    count = -(-(lead + len(samples)) // _HOP) + 1
    padded = np.zeros((count + 1) * _HOP, dtype=np.float64)
    padded[_HOP + lead : _HOP + lead + len(samples)] = samples
    window = _window()
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME)[::_HOP] * window
    spectra = np.fft.rfft(frames)
    steps = (position // _HOP - 1 + np.arange(len(frames))) // _HOPS_PER_STEP % _STEPS
    bins = slice(_FIRST_BIN, _FIRST_BIN + _BAND_BINS * _BANDS)
    gains = 10 ** (_DEPTH_DB / 20 * _pattern(_KEY)[steps])
    spectra[:, bins] *= np.repeat(gains, _BAND_BINS, axis=1) - 1
    spectra[:, : bins.start] = 0
    spectra[:, bins.stop :] = 0
    change = np.zeros(len(padded))
    for offset, frame in enumerate(np.fft.irfft(spectra) * window):
        change[offset * _HOP : offset * _HOP + _FRAME] += frame
    fade = np.ones(len(samples))
    fade[:_FADE] = np.linspace(0, 1, _FADE)
    fade[-_FADE:] = np.linspace(1, 0, _FADE)
    marked: Samples = (samples + fade * change[_HOP + lead : _HOP + lead + len(samples)]).astype(np.float32)
    return marked


@dataclass(frozen=True, slots=True)
class Detection:
    found: bool
    p_value: float
    """The probability that audio without the watermark matches the pattern as well."""


def detect_watermark(samples: Samples) -> Detection:
    """Whether samples at `RATE` carry the watermark."""
    span = int(_SPAN_SECONDS * RATE)
    starts = range(0, max(1, len(samples) - span // 2), span // 2)
    p_values = [_compute_p_value(samples[start : start + span]) for start in starts]
    p_value = min(1.0, min(p_values) * len(p_values))
    return Detection(p_value < _MAX_P_VALUE, p_value)


def _compute_p_value(samples: Samples) -> float:
    """From the pattern's best correlation over all offsets, relative to patterns that are not embedded."""
    if len(samples) < RATE:
        return 1.0
    levels = _measure_levels(samples)
    folded = np.zeros((_PERIOD, _BANDS))
    np.add.at(folded, np.arange(len(levels)) % _PERIOD, levels)
    spectrum = np.fft.rfft(folded, axis=0)
    best = _correlate(spectrum, _KEY).max()
    others = np.concatenate([_correlate(spectrum, _KEY + 1 + decoy) for decoy in range(_DECOYS)])
    deviation = (best - others.mean()) / (others.std() + 1e-12)
    return min(1.0, _PERIOD * 0.5 * math.erfc(deviation / math.sqrt(2)))


def _measure_levels(samples: Samples) -> Array:
    """The log level of each band and frame, relative to the neighbouring frames and bands. [frames, bands]"""
    hop = _HOP // _FRAMES_PER_HOP
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::hop] * _window()
    power = np.abs(np.fft.rfft(frames)) ** 2
    bins = slice(_FIRST_BIN, _FIRST_BIN + _BAND_BINS * _BANDS)
    bands = power[:, bins].reshape(len(frames), _BANDS, _BAND_BINS).sum(axis=2)
    levels: Array = np.log10(bands + 1e-5 * bands.max(axis=0) + 1e-9)
    levels -= _smooth(levels, 4 * _HOPS_PER_STEP * _FRAMES_PER_HOP + 1, axis=0)
    levels -= _smooth(levels, 5, axis=1)
    np.clip(levels, -_MAX_DEVIATION, _MAX_DEVIATION, out=levels)
    return levels


def _smooth(levels: Array, width: int, axis: int) -> Array:
    kernel = np.ones(width) / width
    weight = np.convolve(np.ones(levels.shape[axis]), kernel, "same")
    smooth: Array = np.apply_along_axis(np.convolve, axis, levels, kernel, "same")
    smooth /= weight[:, None] if axis == 0 else weight
    return smooth


def _correlate(spectrum: npt.NDArray[np.complex128], key: int) -> Array:
    """The correlation of the levels with a key's pattern, at each offset."""
    steps = np.repeat(_pattern(key), _HOPS_PER_STEP * _FRAMES_PER_HOP, axis=0)
    correlation: Array = np.fft.irfft((spectrum * np.fft.rfft(steps, axis=0).conj()).sum(axis=1), _PERIOD)
    return correlation


@cache
def _pattern(key: int) -> Array:
    """Up (1) or down (-1) for each step and band; every second step is the inverse of the one before."""
    half = np.random.default_rng(key).integers(0, 2, (_STEPS // 2, _BANDS)) * 2.0 - 1.0
    return np.stack([half, -half], axis=1).reshape(_STEPS, _BANDS)


@cache
def _window() -> Array:
    return np.sqrt(np.hanning(_FRAME + 1)[:-1])
