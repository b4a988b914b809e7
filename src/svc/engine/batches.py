"""svc-turbo 2's networks for a GPU: windows of many sentences in one batch, in floats.

The graphs (training/acoustic/batching.py) are given windows of one length and return as many frames, which lie
`context` frames earlier. So a batch is padded to a common length, one of a few, and what a window did not ask for is
cut off: frames before its sentence, after its own end, and padding. An item of a batch is made as it is alone.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from svc.engine.networks import CURVES, DECODER, GRAPHS, HEAD, TEXT, Feed, StreamShape
from svc.engine.phonemes import SAMPLES_PER_FRAME
from svc.engine.protocol import Array
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_models

FILES = "data/turbo2-batch"
"""As `svc.engine.networks.FILES`."""

_SHORTEST = 32
_KEPT = 4  # frames that the head keeps of its last layer


class Session(Protocol):
    def run(self, output_names: None, input_feed: Feed) -> Sequence[npt.NDArray[Any]]: ...


class BatchedNetworks:
    """Each list of feeds is one batch."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions
        self._layouts: dict[str, Callable[[Session, Sequence[Feed]], list[list[Array]]]] = {
            "prosody": _run_sentences,
            "conditioning": _run_voices,
            "curves": partial(_run_windows, CURVES, {"curve_text": 1, "place": 1, "duration": 1}, 2),
            "text": partial(_run_windows, TEXT, {"ids": 1}, 1),
            "decoder": partial(_run_windows, DECODER, {"text": 1, "place": 1, "duration": 1, "f0": 2, "energy": 2}, 2),
            "head": _run_head,
        }

    def run(self, graph: str, feeds: Sequence[Feed]) -> list[list[Array]]:
        return self._layouts[graph](self._sessions[graph], feeds) if feeds else []


def load_batched_networks(runtime: Runtime) -> tuple[BatchedNetworks, str]:
    """The networks and their fingerprint; raises `EngineUnavailable` without the device, or when a file is missing."""
    runtime.require_device()
    models, fingerprint = read_packaged_models(FILES, GRAPHS)
    with ThreadPoolExecutor(len(models)) as pool:
        sessions = pool.map(runtime.create_session, models.values())
    return BatchedNetworks(dict(zip(models, sessions, strict=True))), fingerprint


def choose_length(frames: int) -> int:
    """The length that a batch is padded to: one of a few, so that memory and plans are used again."""
    length = _SHORTEST
    while length < frames:
        # 32, 48, 64, 96, 128 and so on: at most half of a window is padding, a fifth in the mean.
        length = length * 3 // 2 if length & (length - 1) == 0 else length * 4 // 3
    return length


def _run_voices(session: Session, feeds: Sequence[Feed]) -> list[list[Array]]:
    outputs = session.run(None, _stack(feeds, feeds[0]))
    return [[output[i : i + 1].copy() for output in outputs] for i in range(len(feeds))]


def _run_sentences(session: Session, feeds: Sequence[Feed]) -> list[list[Array]]:
    lengths = [feed["ids"].shape[1] for feed in feeds]
    length = choose_length(max(lengths))
    inputs = _stack(feeds, ("style", "speed"))
    inputs["ids"] = _pad([feed["ids"] for feed in feeds], length, [0] * len(feeds))
    inputs["present"] = _mark_present(length, np.zeros(len(feeds)), np.array(lengths))
    durations, text, *others = session.run(None, inputs)
    return [
        [durations[i : i + 1, :count], text[i : i + 1, :count].copy(), *(each[i : i + 1].copy() for each in others)]
        for i, count in enumerate(lengths)
    ]


class _Windows:
    """How the windows of a batch lie in arrays of one length."""

    def __init__(self, shape: StreamShape, feeds: Sequence[Feed], counts: Sequence[int], before: int) -> None:
        """`counts`: the frames that each is given; `before`: how many frames before them the graph knows about."""
        self.counts = np.array(counts)
        # A sentence begins with half of a state, and ends with a tail.
        self.begins = np.array([feed["state"].shape[2] == shape.reach for feed in feeds])
        self.ends = np.array([feed["tail"].shape[1] > 0 for feed in feeds])
        self.length = choose_length(int((self.counts + shape.context * self.ends).max()))
        self.inputs: Feed = {
            "state": np.concatenate([self._complete(feed["state"], shape) for feed in feeds]),
            "present": _mark_present(before + self.length, before * self.begins, before + self.counts),
            "last": self.counts[:, None] + np.arange(2 * shape.reach),
        }
        # What is made of each: its first and last frame, counted from `context` frames before its window.
        self.first, self.last = shape.context * self.begins, self.counts + shape.context * self.ends

    @staticmethod
    def _complete(state: Array, shape: StreamShape) -> Array:
        missing = 2 * shape.reach - state.shape[2]
        return np.pad(state, ((0, 0), (0, 0), (missing, 0), (0, 0))) if missing else state


def _run_windows(
    shape: StreamShape, rates: Mapping[str, int], made: int, session: Session, feeds: Sequence[Feed]
) -> list[list[Array]]:
    """`rates`: inputs with so many values for each frame; `made`: the same of all outputs but the state."""
    counts = [feed[next(iter(rates))].shape[1] for feed in feeds]
    windows = _Windows(shape, feeds, counts, before=shape.context)
    starts = [0] * len(feeds)
    padded = {name: _pad([feed[name] for feed in feeds], rate * windows.length, starts) for name, rate in rates.items()}
    films = _stack(feeds, ("film",) if "film" in feeds[0] else ())
    *outputs, state = session.run(None, padded | films | windows.inputs)
    cuts = [slice(made * first, made * last) for first, last in zip(windows.first, windows.last, strict=True)]
    return [[*(output[i : i + 1, cut] for output in outputs), state[i : i + 1].copy()] for i, cut in enumerate(cuts)]


def _run_head(session: Session, feeds: Sequence[Feed]) -> list[list[Array]]:
    """Pitch and phase begin earlier than the window: where the samples do that are made again."""
    before = HEAD.context + _KEPT
    windows = _Windows(HEAD, feeds, [feed["features"].shape[1] for feed in feeds], before)
    starts = [before + count - feed["f0"].shape[1] for count, feed in zip(windows.counts, feeds, strict=True)]
    f0, phase = (_pad([feed[name] for feed in feeds], before + windows.length, starts) for name in ("f0", "phase"))
    for row, count in zip(f0, windows.counts, strict=True):
        row[before + count :] = row[before + count - 1]  # a pitch goes on to the end of its last frame
    no_hidden = np.zeros((1, _KEPT, HEAD.width), dtype=np.float32)
    inputs = _stack(feeds, ("film", "position", "mask_offset")) | {
        "features": _pad([feed["features"] for feed in feeds], windows.length, [0] * len(feeds)),
        "f0": f0,
        "phase": phase,
        "hidden": np.concatenate([feed["hidden"] if feed["hidden"].size else no_hidden for feed in feeds]),
    }
    inputs["position"] -= before * windows.begins
    waves, hidden, states = session.run(None, inputs | windows.inputs)
    outputs = []
    for i, (begins, last) in enumerate(zip(windows.begins, windows.last, strict=True)):
        cut = slice(SAMPLES_PER_FRAME * before * begins, SAMPLES_PER_FRAME * (last + _KEPT))
        outputs.append([waves[i : i + 1, cut], hidden[i : i + 1].copy(), states[i : i + 1].copy()])
    return outputs


def _stack(feeds: Sequence[Feed], names: Sequence[str] | Feed) -> Feed:
    return {name: np.concatenate([feed[name] for feed in feeds]) for name in names}


def _pad(arrays: Sequence[npt.NDArray[Any]], length: int, starts: Sequence[int]) -> npt.NDArray[Any]:
    """One array for all, with zeros before each one's start and after its end."""
    padded = np.zeros((len(arrays), length, *arrays[0].shape[2:]), dtype=arrays[0].dtype)
    for row, array, start in zip(padded, arrays, starts, strict=True):
        row[start : start + array.shape[1]] = array[0]
    return padded


def _mark_present(length: int, first: npt.NDArray[Any], last: npt.NDArray[Any]) -> Array:
    frames = np.arange(length)
    return ((frames >= first[:, None]) & (frames < last[:, None])).astype(np.float32)
