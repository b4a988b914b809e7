"""svc-turbo: Kokoro's front half, and a head of our own in the place of its generator.

The head is a small network, distilled from the generator (see training/head): it turns the same score into the same
speech many times faster. It looks no further than a few frames to either side, and what it must know of the whole
utterance (the phase of the pitch, the mean and deviation of the features) it is given. So it can work in windows of
any length, and the samples are those of the whole utterance, up to rounding.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import onnx

from svc.engine.acoustic_model import LONGEST, SAMPLE_RATE, SAMPLES_A_FRAME, AcousticFeatures, AcousticModel, Array
from svc.engine.int8 import products_by_rows
from svc.engine.protocol import Chunk, Samples, Utterance, warm_up
from svc.engine.runtime import Device, Runtime
from svc.engine.windows import between_words
from svc.errors import EngineUnavailable
from svc.memory import trim_malloc

HEAD = "data/turbo-head.onnx"
HEAD_SHA256 = "0be22ca261efe3e3c85829e978eba1367c3d19fade46ea2e1ae20f6ee4577a81"


class TurboEngine:
    name = "turbo"
    sample_rate = SAMPLE_RATE
    max_phonemes = LONGEST

    def __init__(self, read_weights: Callable[[], bytes], threads: int, device: Device = "cpu") -> None:
        self._read_weights = read_weights
        self._runtime = Runtime(threads, device)

    def load(self) -> None:
        self._acoustic_model = AcousticModel(onnx.load_model_from_string(self._read_weights()), self._runtime)
        self._head = self._runtime.session(_head(integers=self._runtime.multiplies_bytes))
        size = json.loads(self._head.get_modelmeta().custom_metadata_map["size"])
        # What its convolutions see to either side, and a frame each for the pulses and the inverse transform.
        self._context = size["blocks"] * (size["kernel"] // 2) + 2
        warm_up(self)
        trim_malloc()  # what was needed to load: more than is needed to speak

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        score = self._acoustic_model.features_of(utterance)
        whole = _Whole.of(score, utterance.vocoder_embedding)
        for window in between_words(utterance.phonemes, score.starts):
            sound = self._sound(score, whole, window.start, window.end)
            yield Chunk(sound, score.timings(window.first, window.last))

    def _sound(self, score: AcousticFeatures, whole: "_Whole", start: int, end: int) -> Samples:
        """The sound of the frames `start:end`."""
        low, high = max(0, start - self._context), min(score.features.shape[2], end + self._context)
        (audio,) = self._head.run(
            None,
            {
                "features": np.ascontiguousarray(score.features[:, :, low:high]),
                "f0": np.ascontiguousarray(score.pitch[:, low:high]),
                "phase": np.ascontiguousarray(whole.phase[:, low:high]),
                "style": score.timbre,
                "stats": whole.statistics,
                "position": np.array([low], dtype=np.int64),
                "grain": whole.vocoder_embedding,
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * SAMPLES_A_FRAME : (end - low) * SAMPLES_A_FRAME]


@dataclass(frozen=True, slots=True)
class _Whole:
    """What a window has to know of the whole utterance."""

    phase: Array
    """Of the fundamental at each frame, in cycles: neighbouring windows continue each other's wave."""
    statistics: Array
    """Mean and deviation of each feature, which the generator's norms go by."""
    vocoder_embedding: Array

    @classmethod
    def of(cls, score: AcousticFeatures, vocoder_embedding: Array) -> "_Whole":
        turns = np.cumsum(score.pitch.astype(np.float64) * SAMPLES_A_FRAME / SAMPLE_RATE, axis=1)
        moments = [score.features.mean(axis=2), score.features.std(axis=2)]
        statistics = np.concatenate(moments, axis=1).astype(np.float32)
        return cls((turns % 1.0).astype(np.float32), statistics, vocoder_embedding[None])


def _head(integers: bool) -> onnx.ModelProto:
    file = files("svc").joinpath(HEAD)
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != HEAD_SHA256:
        raise EngineUnavailable(f"{file} is damaged: its sha256 is {HEAD_SHA256}, this has {found}. Install svc again.")
    head = onnx.load_model_from_string(content)
    # The blocks are most of the work. The layers around them would lose more precision than time.
    return products_by_rows(head, "blocks.") if integers else head
