"""svc-turbo 2 on a GPU: whole utterances in one batch, from phonemes to samples in one graph, in floats.

The graph (training/acoustic/batching.py) is given utterances that are padded to a common number of phonemes, one of a
few, and makes each as it is alone. What lies after an utterance's own end is cut off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples
from svc.engine.batcher import MOST_AT_ONCE
from svc.engine.networks import FILES, GRAPHS
from svc.engine.phonemes import SAMPLES_PER_FRAME, PhonemeFrames, locate_phonemes, tokenize, vary_prosody
from svc.engine.protocol import TIMBRE_PHONEMES, Utterance
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_models

GRAPH = "batch-speech"
"""Its matrices are those of the graphs for a CPU, and lie there, in int8."""

_SHORTEST = 32  # tokens
_MOST_TOKENS = MOST_AT_ONCE * 128  # of a batch, which bounds its memory and the time for which others wait

Feed = dict[str, npt.NDArray[Any]]


class Session(Protocol):
    def run(self, output_names: None, input_feed: Feed) -> Sequence[npt.NDArray[Any]]: ...


@dataclass(frozen=True, slots=True)
class Speech:
    """An utterance that is spoken, with its context."""

    phonemes: PhonemeFrames
    wave: Samples

    def take(self, start: int, end: int) -> Samples:
        """The samples of the frames `start:end`."""
        return self.wave[start * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME]


class BatchedNetworks:
    """Each list of utterances is one batch."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def speak(self, utterances: Sequence[Utterance]) -> list[Speech]:
        ids = [tokenize(utterance)[0] for utterance in utterances]
        durations, waves = self._session.run(None, _pad(ids) | _describe_voices(utterances))
        spoken = []
        for utterance, tokens, durations_, wave in zip(utterances, ids, durations, waves, strict=True):
            phonemes = locate_phonemes(durations_[: len(tokens)], utterance)
            spoken.append(Speech(phonemes, wave))
        return spoken


def load_batched_networks(runtime: Runtime) -> tuple[BatchedNetworks, str]:
    """The networks and their fingerprint; raises `EngineUnavailable` without the device, or when a file is missing."""
    runtime.require_device()
    _, fingerprint = read_packaged_models(FILES, [*GRAPHS, GRAPH])
    path = Path(str(files("svc").joinpath(f"{FILES}-{GRAPH}.onnx")))
    return BatchedNetworks(runtime.create_session(path, tf32=True)), fingerprint


def choose_length(tokens: int) -> int:
    """The length that a batch is padded to: one of a few, so that many share a batch, and memory is used again."""
    return max(_SHORTEST, 1 << (tokens - 1).bit_length())


def measure(utterance: Utterance) -> int:
    """The length that the utterance would be padded to alone."""
    return choose_length(len(utterance.before + utterance.phonemes + utterance.after) + 2)


def count_at_once(length: int) -> int:
    """How many utterances of a length may share a batch."""
    return min(MOST_AT_ONCE, _MOST_TOKENS // length)


def _pad(ids: Sequence[npt.NDArray[np.int64]]) -> Feed:
    length = choose_length(max(map(len, ids)))
    padded, present = np.zeros((len(ids), length), dtype=np.int64), np.zeros((len(ids), length), dtype=np.float32)
    for row, marks, tokens in zip(padded, present, ids, strict=True):
        row[: len(tokens)] = tokens
        marks[: len(tokens)] = 1
    return {"ids": padded, "present": present}


def _describe_voices(utterances: Sequence[Utterance]) -> Feed:
    def gather(values: Sequence[float]) -> npt.NDArray[np.float32]:
        return np.array(values, dtype=np.float32)

    styles = [vary_prosody(each.choose_style()[:, 128:], each.delivery) for each in utterances]
    timbres = [each.choose_style(TIMBRE_PHONEMES)[:, :128] + each.layer_offsets for each in utterances]
    return {
        "style": np.concatenate(styles),
        "timbre": np.stack(timbres),
        "vocoder_embedding": np.stack([each.vocoder_embedding for each in utterances]),
        "mask_offset": np.stack([each.mask_offset for each in utterances]),
        "speed": gather([each.delivery.speed for each in utterances]),
        "pitch_scale": gather([each.pitch_scale for each in utterances]),
        "pitch_range": gather([each.delivery.pitch_range for each in utterances]),
    }
