"""svc-turbo's networks (training/acoustic): six finished ONNX graphs, which ONNX Runtime runs as they are.

    tokens, style ──▶ prosody ──▶ durations, an encoding for the curves, a summary of them      once a sentence
    timbres, summary ──▶ conditioning ──▶ what voice and sentence do to every frame             once a sentence
    encoding ──▶ curves ──▶ pitch, energy                                                       window by window
    tokens ──▶ text ──┐                                                                         window by window
    pitch, energy ────┴──▶ decoder ──▶ features ──▶ head ──▶ samples                            window by window

They speak one sentence at a time, because that keeps the cores of a CPU busy. A GPU has a graph of its own:
`svc.engine.batches`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import Array
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_models

GRAPHS = ("prosody", "conditioning", "curves", "text", "decoder", "head")
FILES = "data/turbo"
"""The graphs are `turbo-prosody.onnx` and so on; `turbo.sha256` has their hashes."""

Feed = dict[str, npt.NDArray[Any]]


class Networks(Protocol):
    def run(self, graph: str, feed: Feed) -> Sequence[Array]: ...


class OnnxNetworks:
    def __init__(self, runtime: Runtime) -> None:
        """Raises `EngineUnavailable` when a file is missing or damaged."""
        models, self.fingerprint = read_packaged_models(FILES, GRAPHS)
        # Most of a session's creation is packing its weights, in one thread.
        with ThreadPoolExecutor(runtime.threads) as pool:
            sessions = pool.map(runtime.create_session, models.values())
        self._sessions = dict(zip(models, sessions, strict=True))

    def run(self, graph: str, feed: Feed) -> Sequence[Array]:
        outputs: Sequence[Array] = self._sessions[graph].run(None, feed)
        return outputs


@dataclass(frozen=True, slots=True)
class StreamShape:
    """The convolutions of a network that works window by window."""

    blocks: int
    width: int
    taps: int

    @property
    def reach(self) -> int:
        """How many frames a block sees to either side."""
        return self.taps // 2

    @property
    def context(self) -> int:
        """How many frames the network sees to either side."""
        return self.blocks * self.reach


CURVES = StreamShape(blocks=6, width=384, taps=9)
TEXT = StreamShape(blocks=4, width=384, taps=5)
DECODER = StreamShape(blocks=6, width=512, taps=5)
HEAD = StreamShape(blocks=6, width=512, taps=5)


class Stream:
    """How far a network that works window by window has come in a sentence.

    Its output ends `context` frames earlier than what it was given, except at the end of the sentence, and it returns a
    state with which it goes on. So every frame is computed once, and windows make exactly what the whole sentence does.
    """

    def __init__(self, shape: StreamShape, start: int, total: int) -> None:
        """`start`: the first frame it is given, of `total`. Unless that is 0, its first `context` frames are wrong."""
        self._shape, self._total = shape, total
        self._state = np.zeros((1, shape.blocks, shape.reach, shape.width), dtype=np.float32)
        self.given = self.made = self._asked = start

    @property
    def finished(self) -> bool:
        return self.given == self._total

    def feed(self, end: int) -> tuple[slice, Feed] | None:
        """The frames to give it, so that it makes those before `end`, and what it needs beside them.

        None if they are made already. Nothing changes before `keep`: a run that failed can be tried again.
        """
        last = min(self._total, end + self._shape.context)
        if last <= self.given:
            return None
        self._asked = last
        tail = np.zeros((1, self._shape.reach * (last == self._total), self._shape.width), dtype=np.float32)
        return slice(self.given, last), {"state": self._state, "tail": tail}

    def keep(self, state: Array) -> slice:
        """Keeps the state after a run; returns which frames it has made."""
        self._state, self.given = state, self._asked
        end = self._total if self.finished else self.given - self._shape.context
        made, self.made = slice(self.made, end), end
        return made
