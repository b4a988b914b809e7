"""The pace of a speaker: how many syllables a second, counted as peaks of the level, against that of other people."""

import numpy as np

from svc.cloning.speech_detection import Array, FrameFeatures, Mask

MIN_SECONDS = 8.0
"""With less speech, the text decides more than the speaker."""
SLOWEST, FASTEST = 0.88, 1.12

_SMOOTHING_FRAMES = 7
_DIP_DB = 1.5  # least, between the peaks of two syllables
_VOICED = 0.6  # least periodicity near a peak
_RANGE_DB = 25.0  # below the loudest frames
# The mean of 19 people, which is the engine's rate, too. What a person differs by in 8 s of speech correlates by 0.4
# with the syllables of the transcript in another of their recordings, so half of it is taken over.
_MEAN_RATE = 4.0
_SHARE = 0.5


def find_pace(syllables: int, seconds: float) -> float:
    """The factor by which a person speaks faster than others; 1 if there is too little speech to tell."""
    if seconds < MIN_SECONDS:
        return 1.0
    pace = 1.0 + _SHARE * (syllables / seconds / _MEAN_RATE - 1.0)
    return round(min(max(pace, SLOWEST), FASTEST), 3)


def count_syllables(features: FrameFeatures, speech: Mask) -> int:
    """Voiced peaks of the level, with a dip between two of them."""
    level = _smooth(np.maximum(features.level, features.loud - 2 * _RANGE_DB))
    is_peak = (level[1:-1] >= level[:-2]) & (level[1:-1] > level[2:])
    count, last = 0, -1
    for peak in (np.flatnonzero(is_peak) + 1).tolist():
        is_voiced = features.periodicity[max(0, peak - 2) : peak + 3].max() >= _VOICED
        if not (speech[peak] and is_voiced and level[peak] >= features.loud - _RANGE_DB):
            continue
        if last < 0 or min(level[peak], level[last]) - level[last : peak + 1].min() >= _DIP_DB:
            count, last = count + 1, peak
        elif level[peak] > level[last]:
            last = peak
    return count


def _smooth(level: Array) -> Array:
    window = np.hanning(_SMOOTHING_FRAMES + 2)[1:-1]
    half = _SMOOTHING_FRAMES // 2
    smoothed: Array = np.convolve(np.pad(level, half, "edge"), window / window.sum(), "valid")
    return smoothed
