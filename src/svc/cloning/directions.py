"""The directions in which a refined voice may stray from the clone that it began as.

They are the main ones in which the built-in voices differ, for the timbre and for the melody, and the pitch: along
these, people speak; across them, most of what the parameters can say is noise.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from svc.cloning.parameters import LARGEST, PITCH_SCALES, STYLE, VoiceParameters
from svc.voices import built_in

Offset = npt.NDArray[np.float32]
"""[COUNT], in units of the built-in voices' spread."""

_TIMBRE, _MELODY = 16, 4
COUNT = _TIMBRE + _MELODY + 1

_PITCH_STEP = 0.1
_ROWS = slice(60, 120)  # of the style tables: sentences of the usual length

Array = npt.NDArray[np.float32]


class Directions:
    def __init__(self) -> None:
        styles = np.stack([each.style[_ROWS].mean(axis=0) for each in built_in()])
        self._timbre = _axes(styles[:, :STYLE], _TIMBRE)
        self._melody = _axes(styles[:, STYLE:], _MELODY)

    def moved(self, voice: VoiceParameters, offset: Offset) -> VoiceParameters:
        """The voice, so far away from itself."""
        timbre, melody, (pitch,) = np.split(offset, [_TIMBRE, _TIMBRE + _MELODY])
        scale = voice.pitch_scale * math.exp(_PITCH_STEP * float(pitch))
        return replace(
            voice,
            timbre=_bounded(voice.timbre + timbre @ self._timbre),
            melody=_bounded(voice.melody + melody @ self._melody),
            pitch_scale=float(np.clip(scale, *PITCH_SCALES)),
        )


def _axes(styles: Array, count: int) -> Array:
    """The main directions in which voices differ, each as long as the voices' spread along it."""
    _, spread, axes = np.linalg.svd(styles - styles.mean(axis=0), full_matrices=False)
    scaled: Array = (axes[:count] * (spread[:count, None] / math.sqrt(len(styles)))).astype(np.float32)
    return scaled


def _bounded(values: Array) -> Array:
    bounded: Array = np.clip(values, -LARGEST, LARGEST).astype(np.float32)
    return bounded
