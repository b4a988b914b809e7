"""The pitch of speech, by the detector that examines recordings for cloning."""

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples
from svc.cloning.speech_detection import analyze_frames


def measure_pitch(samples: Samples) -> npt.NDArray[np.float64]:
    """The pitch of the clearly voiced frames of 24 kHz speech, in Hz."""
    frames = analyze_frames(samples)
    return frames.pitch[(frames.level > frames.loud - 15) & (frames.periodicity > 0.8)]


def pitch_deviation(samples: Samples) -> float:
    """The standard deviation of the pitch in semitones, without octave errors."""
    pitch = measure_pitch(samples)
    median = np.median(pitch)
    octave_errors = (pitch < median / 1.8) | (pitch > median * 1.8)
    return float(np.std(12 * np.log2(pitch[~octave_errors])))
