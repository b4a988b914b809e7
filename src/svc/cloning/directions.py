"""The directions in which a refined voice may stray from the clone that it began as.

They are the main ones in which the timbre of the built-in voices differs, and the pitch: along these, people speak;
across them, most of what the parameters can say is noise. The melody stays as it is: its directions were tried too,
cost naturalness, and made the voices no more like their speakers.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from svc.voices.catalogue import built_in, usual
from svc.voices.parameters import LARGEST, PITCH_SCALES, STYLE, VoiceParameters

Offset = npt.NDArray[np.float32]
"""[COUNT], in units of the built-in voices' spread."""

_TIMBRE = 16
COUNT = _TIMBRE + 1

_PITCH_STEP = 0.1


class Directions:
    def __init__(self) -> None:
        timbres = np.stack([usual(each)[:STYLE] for each in built_in()])
        # The main directions, each as long as the voices' spread along it.
        _, spread, axes = np.linalg.svd(timbres - timbres.mean(axis=0), full_matrices=False)
        axes, spread = axes[:_TIMBRE], spread[:_TIMBRE] / math.sqrt(len(timbres))
        # Which way they point is the library's choice; a search that was stored has to mean the same everywhere.
        signs = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1, keepdims=True), axis=1))
        self._axes = axes * signs * spread[:, None]

    def moved(self, voice: VoiceParameters, offset: Offset) -> VoiceParameters:
        """The voice, so far away from itself."""
        timbre = voice.timbre + offset[:_TIMBRE] @ self._axes
        pitch_scale = voice.pitch_scale * math.exp(_PITCH_STEP * float(offset[_TIMBRE]))
        return replace(
            voice,
            timbre=np.clip(timbre, -LARGEST, LARGEST).astype(np.float32),
            pitch_scale=float(np.clip(pitch_scale, *PITCH_SCALES)),
        )
