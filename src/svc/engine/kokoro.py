"""Kokoro-82M as published: its front half, and its own generator.

The generator takes nearly all the time, and its norms look at everything that it is given at once. It runs from
pause to pause: the first phrase is heard while the rest is still being made.
"""

from collections.abc import Callable, Iterator

import numpy as np
import onnx

from svc.engine.acoustic_model import (
    FEATURES,
    LONGEST,
    PITCH_CURVE,
    SAMPLE_RATE,
    SAMPLES_A_FRAME,
    TIMBRE,
    AcousticFeatures,
    AcousticModel,
)
from svc.engine.graph import extract
from svc.engine.protocol import Chunk, Samples, Utterance, warm_up
from svc.engine.runtime import Device, Runtime
from svc.engine.windows import between_pauses
from svc.memory import trim_malloc

_MARGIN = 8  # frames on each side of a window that the generator's convolutions can see
_FADE_OUT = np.linspace(1, 0, SAMPLES_A_FRAME, dtype=np.float32)


class KokoroEngine:
    name = "kokoro"
    sample_rate = SAMPLE_RATE
    max_phonemes = LONGEST

    def __init__(self, read_weights: Callable[[], bytes], threads: int, device: Device = "cpu") -> None:
        self._read_weights = read_weights
        self._runtime = Runtime(threads, device)

    def load(self) -> None:
        self._open(onnx.load_model_from_string(self._read_weights()))
        warm_up(self)
        trim_malloc()  # what was needed to load: more than is needed to speak

    def _open(self, model: onnx.ModelProto) -> None:
        self._acoustic_model = AcousticModel(model, self._runtime)
        generator = extract(model, [FEATURES, PITCH_CURVE, TIMBRE], [model.graph.output[0].name])
        self._generator = self._runtime.session(generator)

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        score = self._acoustic_model.features_of(utterance)
        fading = None  # one frame of the window before, which overlaps with the next
        for window in between_pauses(utterance.phonemes, score.starts):
            more = window.last < len(utterance.phonemes)
            sound = self._sound(score, window.start, window.end + more)
            if fading is not None:
                sound[:SAMPLES_A_FRAME] += (fading - sound[:SAMPLES_A_FRAME]) * _FADE_OUT
            if more:
                sound, fading = sound[:-SAMPLES_A_FRAME], sound[-SAMPLES_A_FRAME:]
            yield Chunk(sound, score.timings(window.first, window.last))

    def _sound(self, score: AcousticFeatures, start: int, end: int) -> Samples:
        """The sound of the frames `start:end`."""
        low, high = max(0, start - _MARGIN), min(score.features.shape[2], end + _MARGIN)
        (audio,) = self._generator.run(
            None,
            {
                FEATURES: np.ascontiguousarray(score.features[:, :, low:high]),
                PITCH_CURVE: np.ascontiguousarray(score.pitch[:, None, low:high]),
                TIMBRE: score.timbre,
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * SAMPLES_A_FRAME : (end - low) * SAMPLES_A_FRAME].copy()
