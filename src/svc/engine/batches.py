"""svc-turbo 2's networks for a GPU: windows of many sentences in one batch, in floats.

The graphs (training/acoustic/batching.py) are given windows of one length and return as many frames, which lie
`context` frames earlier. So a batch is padded to a common length, one of a few, and what a window did not ask for is
cut off: frames before its sentence, after its own end, and padding. An item of a batch is made as it is alone.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from svc.engine.networks import CURVES, DECODER, GRAPHS, HEAD, TEXT, Feed, StreamShape
from svc.engine.phonemes import SAMPLES_PER_FRAME
from svc.engine.protocol import Array
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_models

FILES = "data/turbo-batch"
"""As `svc.engine.networks.FILES`."""

_SHORTEST = 32
_KEPT = 4  # frames that the head keeps of its last layer


class Session(Protocol):
    def run(self, output_names: None, input_feed: Feed) -> Sequence[npt.NDArray[Any]]: ...


@dataclass(frozen=True, slots=True)
class _Layout:
    """A network that works window by window: inputs with so many values for each frame, and the same of its outputs."""

    shape: StreamShape
    inputs: Mapping[str, int]
    outputs: int


_LAYOUTS = {
    "curves": _Layout(CURVES, {"curve_text": 1, "place": 1, "duration": 1}, 2),
    "text": _Layout(TEXT, {"ids": 1}, 1),
    "decoder": _Layout(DECODER, {"text": 1, "place": 1, "duration": 1, "f0": 2, "energy": 2}, 2),
}


class BatchedNetworks:
    """Each list of feeds is one batch."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions
        self._buffers = _Buffers()

    def run(self, graph: str, feeds: Sequence[Feed]) -> list[list[Array]]:
        if not feeds:
            return []
        if graph == "conditioning":
            outputs = self._sessions[graph].run(None, _stack(feeds, feeds[0]))
            return [[output[i : i + 1].copy() for output in outputs] for i in range(len(feeds))]
        if graph == "prosody":
            return self._run_sentences(feeds)
        return self._run_head(feeds) if graph == "head" else self._run_windows(graph, feeds)

    def _run_sentences(self, feeds: Sequence[Feed]) -> list[list[Array]]:
        lengths = [feed["ids"].shape[1] for feed in feeds]
        length = choose_length(max(lengths))
        inputs = _stack(feeds, ("style", "speed"))
        inputs["ids"] = self._buffers.pad(feeds, "ids", length)
        inputs["present"] = _mark_present(length, np.zeros(len(feeds)), np.array(lengths))
        durations, text, *others = self._sessions["prosody"].run(None, inputs)
        return [
            [durations[i : i + 1, :count], text[i : i + 1, :count].copy(), *(each[i : i + 1].copy() for each in others)]
            for i, count in enumerate(lengths)
        ]

    def _run_windows(self, graph: str, feeds: Sequence[Feed]) -> list[list[Array]]:
        layout = _LAYOUTS[graph]
        counts = [feed[next(iter(layout.inputs))].shape[1] for feed in feeds]
        windows = _Windows(layout.shape, feeds, counts, before=layout.shape.context)
        pad = self._buffers.pad
        padded = {name: pad(feeds, name, rate * windows.length) for name, rate in layout.inputs.items()}
        films = _stack(feeds, ("film",) if "film" in feeds[0] else ())
        *outputs, state = self._sessions[graph].run(None, padded | films | windows.inputs)
        made = [
            slice(layout.outputs * first, layout.outputs * last)
            for first, last in zip(windows.first, windows.last, strict=True)
        ]
        return [
            [*(output[i : i + 1, cut] for output in outputs), state[i : i + 1].copy()] for i, cut in enumerate(made)
        ]

    def _run_head(self, feeds: Sequence[Feed]) -> list[list[Array]]:
        """Pitch and phase begin earlier than the window: where the samples do that are made again."""
        before = HEAD.context + _KEPT
        windows = _Windows(HEAD, feeds, [feed["features"].shape[1] for feed in feeds], before)
        starts = [before + count - feed["f0"].shape[1] for count, feed in zip(windows.counts, feeds, strict=True)]
        length = before + windows.length
        f0, phase = (self._buffers.pad(feeds, name, length, starts) for name in ("f0", "phase"))
        for row, count in zip(f0, windows.counts, strict=True):
            row[before + count :] = row[before + count - 1]  # a pitch goes on to the end of its last frame
        inputs = _stack(feeds, ("film", "position", "mask_offset")) | {
            "features": self._buffers.pad(feeds, "features", windows.length),
            "f0": f0,
            "phase": phase,
            "hidden": _align([feed["hidden"] for feed in feeds], (_KEPT, HEAD.width)),
        }
        inputs["position"] -= before * windows.begins
        waves, hidden, states = self._sessions["head"].run(None, inputs | windows.inputs)
        outputs = []
        for i, (begins, last) in enumerate(zip(windows.begins, windows.last, strict=True)):
            cut = slice(SAMPLES_PER_FRAME * before * begins, SAMPLES_PER_FRAME * (last + _KEPT))
            outputs.append([waves[i : i + 1, cut], hidden[i : i + 1].copy(), states[i : i + 1].copy()])
        return outputs


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
        # 32, 48, 64, 96, 128 and so on: at most a third of it is padding.
        length = length * 3 // 2 if length & (length - 1) == 0 else length * 4 // 3
    return length


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
            "state": _align([feed["state"] for feed in feeds], (shape.blocks, 2 * shape.reach, shape.width)),
            "present": _mark_present(before + self.length, before * self.begins, before + self.counts),
            "last": self.counts[:, None] + np.arange(2 * shape.reach),
        }
        # What is made of each: its first and last frame, counted from `context` frames before its window.
        self.first, self.last = shape.context * self.begins, self.counts + shape.context * self.ends


class _Buffers(threading.local):
    """Arrays for batches, used again by each thread: new ones of this size cost more than filling them."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, int], npt.NDArray[Any]] = {}

    def pad(
        self, feeds: Sequence[Feed], name: str, length: int, starts: Sequence[int] | None = None
    ) -> npt.NDArray[Any]:
        """One array for all; around each item lies whatever was there before, which no graph looks at."""
        first = feeds[0][name]
        array = self._arrays.get((name, length))
        if array is None or len(array) < len(feeds):
            array = self._arrays[name, length] = np.zeros((len(feeds), length, *first.shape[2:]), dtype=first.dtype)
        for row, feed, start in zip(array, feeds, starts or [0] * len(feeds), strict=False):
            row[start : start + feed[name].shape[1]] = feed[name][0]
        return array[: len(feeds)]


def _stack(feeds: Sequence[Feed], names: Sequence[str] | Feed) -> Feed:
    return {name: np.concatenate([feed[name] for feed in feeds]) for name in names}


def _align(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """One array for all, with zeros where one has fewer frames, which are the last axis but one."""
    aligned = np.zeros((len(arrays), *shape), dtype=np.float32)
    for row, array in zip(aligned, arrays, strict=True):
        row[..., shape[-2] - array.shape[-2] :, :] = array[0]
    return aligned


def _mark_present(length: int, first: npt.NDArray[Any], last: npt.NDArray[Any]) -> Array:
    frames = np.arange(length)
    return ((frames >= first[:, None]) & (frames < last[:, None])).astype(np.float32)
