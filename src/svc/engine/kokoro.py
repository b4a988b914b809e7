"""Kokoro-82M as published: its acoustic model and its own vocoder, an iSTFTNet generator.

The generator takes nearly all the time, and its norms span everything that it is given at once. It renders from pause
to pause, so that the first phrase can be played while the rest is synthesized.
"""

from collections.abc import Callable, Iterator

import numpy as np
import onnx

from svc.engine.acoustic_model import FEATURES, PITCH_CURVE, TIMBRE, AcousticFeatures, AcousticModel
from svc.engine.graph import extract_subgraph
from svc.engine.int8 import serialize_for
from svc.engine.phonemes import MAX_PHONEMES, SAMPLE_RATE, SAMPLES_PER_FRAME
from svc.engine.protocol import Chunk, Samples, Utterance, warm_up
from svc.engine.runtime import Device, Runtime
from svc.engine.weights import fingerprint_weights
from svc.engine.windows import split_at_pauses
from svc.memory import trim_malloc

_MARGIN = 8  # frames beyond each end of a window that the generator's convolutions can see
_FADE_OUT = np.linspace(1, 0, SAMPLES_PER_FRAME, dtype=np.float32)


class KokoroEngine:
    name = "kokoro"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, read_weights: Callable[[], bytes], threads: int, device: Device = "cpu") -> None:
        self._read_weights = read_weights
        self._runtime = Runtime(threads, device)

    def load(self) -> None:
        weights = self._read_weights()
        self.fingerprint = fingerprint_weights(weights)
        self._create_sessions(onnx.load_model_from_string(weights))
        del weights
        warm_up(self)
        trim_malloc()  # loading needs more memory than synthesis

    def _create_sessions(self, model: onnx.ModelProto) -> None:
        self._acoustic_model = AcousticModel(model, self._runtime)
        generator = extract_subgraph(model, [FEATURES, PITCH_CURVE, TIMBRE], [model.graph.output[0].name])
        self._generator = self._runtime.create_session(serialize_for(self._runtime, generator))

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        features = self._acoustic_model.predict(utterance)
        tail = None  # the last frame of the window before, which overlaps with the next one
        for window in split_at_pauses(utterance.phonemes, features.phonemes.starts):
            has_next = window.last < len(utterance.phonemes)
            samples = self._render(features, window.start, window.end + has_next)
            if tail is not None:
                samples[:SAMPLES_PER_FRAME] += (tail - samples[:SAMPLES_PER_FRAME]) * _FADE_OUT
            if has_next:
                samples, tail = samples[:-SAMPLES_PER_FRAME], samples[-SAMPLES_PER_FRAME:]
            yield Chunk(samples, features.phonemes.timings(window.first, window.last))

    def _render(self, features: AcousticFeatures, start: int, end: int) -> Samples:
        """The audio of the frames `start:end`."""
        low, high = max(0, start - _MARGIN), min(features.features.shape[2], end + _MARGIN)
        (audio,) = self._generator.run(
            None,
            {
                FEATURES: np.ascontiguousarray(features.features[:, :, low:high]),
                PITCH_CURVE: np.ascontiguousarray(features.pitch[:, None, low:high]),
                TIMBRE: features.timbre,
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * SAMPLES_PER_FRAME : (end - low) * SAMPLES_PER_FRAME].copy()
