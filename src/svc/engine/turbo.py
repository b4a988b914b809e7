"""svc-turbo: Kokoro's acoustic model, with a vocoder head of its own instead of Kokoro's generator.

The head is a small network that was distilled from the generator (see training/head) and renders the same features many
times faster. Its receptive field is a few frames to either side; what depends on the whole utterance (the phase of the
pitch, the mean and deviation of the features) is an input. So it renders windows of any length, and the samples are
those of the whole utterance up to rounding.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import onnx

from svc.engine.acoustic_model import AcousticFeatures, AcousticModel
from svc.engine.int8 import quantize_matmuls, serialize_for
from svc.engine.phonemes import MAX_PHONEMES, SAMPLE_RATE, SAMPLES_PER_FRAME
from svc.engine.protocol import Array, Chunk, Samples, Utterance, warm_up
from svc.engine.runtime import Device, Runtime
from svc.engine.weights import fingerprint_weights, read_packaged_model
from svc.engine.windows import split_at_words
from svc.memory import trim_malloc

HEAD = "data/turbo-head.onnx"
HEAD_SHA256 = "0be22ca261efe3e3c85829e978eba1367c3d19fade46ea2e1ae20f6ee4577a81"


class TurboEngine:
    name = "turbo"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, read_weights: Callable[[], bytes], threads: int, device: Device = "cpu") -> None:
        self._read_weights = read_weights
        self._runtime = Runtime(threads, device)

    def load(self) -> None:
        weights = self._read_weights()
        self.fingerprint = fingerprint_weights(weights) + HEAD_SHA256[:8]
        self._acoustic_model = AcousticModel(onnx.load_model_from_string(weights), self._runtime)
        del weights
        head = onnx.load_model_from_string(read_packaged_model(HEAD, HEAD_SHA256))
        if self._runtime.has_fast_int8:
            # The blocks are most of the work. The layers around them would lose more precision than time.
            head = quantize_matmuls(head, "blocks.")
        self._head = self._runtime.create_session(serialize_for(self._runtime, head))
        size = json.loads(self._head.get_modelmeta().custom_metadata_map["size"])
        # The convolutions' receptive field, and a frame each for the pulses and the inverse STFT.
        self._margin = size["blocks"] * (size["kernel"] // 2) + 2
        warm_up(self)
        trim_malloc()  # loading needs more memory than synthesis

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        features = self._acoustic_model.predict(utterance)
        conditioning = _Conditioning.of(features, utterance.vocoder_embedding)
        for window in split_at_words(utterance.phonemes, features.phonemes.starts):
            samples = self._render(features, conditioning, window.start, window.end)
            yield Chunk(samples, features.phonemes.timings(window.first, window.last))

    def _render(self, features: AcousticFeatures, conditioning: "_Conditioning", start: int, end: int) -> Samples:
        """The audio of the frames `start:end`."""
        low, high = max(0, start - self._margin), min(features.features.shape[2], end + self._margin)
        (audio,) = self._head.run(
            None,
            {
                "features": np.ascontiguousarray(features.features[:, :, low:high]),
                "f0": np.ascontiguousarray(features.pitch[:, low:high]),
                "phase": np.ascontiguousarray(conditioning.phase[:, low:high]),
                "style": features.timbre,
                "stats": conditioning.statistics,
                "position": np.array([low], dtype=np.int64),
                "grain": conditioning.vocoder_embedding,  # as the network calls it
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * SAMPLES_PER_FRAME : (end - low) * SAMPLES_PER_FRAME]


@dataclass(frozen=True, slots=True)
class _Conditioning:
    """The head's inputs that depend on the whole utterance."""

    phase: Array
    """[1, frames]: of the fundamental, in cycles, so that neighbouring windows continue each other's waveform."""
    statistics: Array
    """[1, 1024]: mean and deviation of each feature, which the generator's norms would compute."""
    vocoder_embedding: Array
    """[1, 256]"""

    @classmethod
    def of(cls, features: AcousticFeatures, vocoder_embedding: Array) -> "_Conditioning":
        cycles = np.cumsum(features.pitch.astype(np.float64) * SAMPLES_PER_FRAME / SAMPLE_RATE, axis=1)
        moments = [features.features.mean(axis=2), features.features.std(axis=2)]
        statistics = np.concatenate(moments, axis=1).astype(np.float32)
        return cls((cycles % 1.0).astype(np.float32), statistics, vocoder_embedding[None])
