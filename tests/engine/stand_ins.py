"""Stand-ins in numpy for svc-turbo 2's networks, which look as far to either side as the real ones.

So a frame too few or too many is noticed, without the files of the networks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from svc.engine.networks import CURVES, DECODER, GRAPHS, HEAD, TEXT, Feed, StreamShape
from svc.engine.phonemes import SAMPLES_PER_FRAME
from svc.engine.protocol import Array


class StandIns:
    """Networks that are sums over as many neighbours as the real ones see."""

    def __init__(self, *, phase: bool = True) -> None:
        self._phase = phase
        """Whether phase and position, which count from where rendering began, are heard."""

    def run(self, graph: str, feeds: Sequence[Feed]) -> list[list[Array]]:
        return [getattr(self, f"_run_{graph}")(feed) for feed in feeds]

    def _run_prosody(self, feed: Feed) -> list[Array]:
        ids = feed["ids"]
        durations = np.maximum(1, np.round((ids % 5 + 2) / feed["speed"]))
        text = np.repeat(np.sin(ids + feed["style"][:, :1])[..., None], CURVES.width, axis=2).astype(np.float32)
        summary = np.array([[0.5, 0.1, 0.2, 1.0, 0.5]], dtype=np.float32)
        return [durations.astype(np.float32), text, np.ones((1, 6, 2, CURVES.width), dtype=np.float32), summary]

    def _run_conditioning(self, feed: Feed) -> list[Array]:
        film = np.full((1, 6, 2, HEAD.width), 1 + feed["summary"].sum() + feed["timbre"].mean(), dtype=np.float32)
        return [film, film + feed["vocoder_embedding"].sum()]

    def _run_curves(self, feed: Feed) -> list[Array]:
        x = feed["curve_text"] + (feed["place"] / feed["duration"])[..., None].astype(np.float32)
        made, state = self._convolve(CURVES, x, feed)
        curve = np.repeat(made[:, :, 0], 2, axis=1)
        return [150 + 40 * np.tanh(curve), curve, state]

    def _run_text(self, feed: Feed) -> list[Array]:
        x = np.repeat(np.cos(feed["ids"])[..., None], TEXT.width, axis=2).astype(np.float32)
        return list(self._convolve(TEXT, x, feed))

    def _run_decoder(self, feed: Feed) -> list[Array]:
        x = feed["text"][:, :, :1] + (feed["f0"] + feed["energy"]).reshape(1, -1, 2).sum(axis=2, keepdims=True) / 100
        x = np.repeat(x * feed["film"][0, 0, 0, 0], DECODER.width, axis=2).astype(np.float32)
        made, state = self._convolve(DECODER, x, feed)
        return [np.repeat(made, 2, axis=1), state]

    def _run_head(self, feed: Feed) -> list[Array]:
        count = feed["features"].shape[1]
        x = feed["features"] * feed["film"][0, 0, 0, 0]
        x = x + self._phase * np.cos(2 * np.pi * feed["phase"][:, -count:, None])
        made, state = self._convolve(HEAD, x.astype(np.float32), feed)
        hidden = np.concatenate([feed["hidden"], made], axis=1)
        ready = hidden.shape[1]
        sources = hidden[:, :, 0] + _glide(feed["f0"][:, :ready])
        sources = sources + self._phase * ((feed["position"] + np.arange(ready)) % 7) + feed["mask_offset"].sum()
        return [_overlap(sources), hidden[:, -4:], state]

    def _convolve(self, shape: StreamShape, x: Array, feed: Feed) -> tuple[Array, Array]:
        states = []
        for block in range(shape.blocks):
            x = np.concatenate([feed["state"][:, block], x, feed["tail"]], axis=1)
            states.append(x[:, -2 * shape.reach :])
            x = _add_neighbours(shape, x)
        return x, np.stack(states, axis=1)


class BatchedStandIns:
    """The same networks as the graphs for batches compute them (training/acoustic/batching.py)."""

    def __init__(self) -> None:
        self.sessions = {name: _Session(getattr(self, f"_run_{name}")) for name in GRAPHS}

    def _run_prosody(self, ids: Array, style: Array, speed: Array, present: Array) -> list[Array]:
        rows = [{"ids": ids[i : i + 1], "style": style[i : i + 1], "speed": speed[i]} for i in range(len(ids))]
        durations, text, *others = (np.concatenate(each) for each in zip(*StandIns().run("prosody", rows), strict=True))
        return [durations * present, text, *others]

    def _run_conditioning(self, **inputs: Array) -> list[Array]:
        rows = [{name: each[i : i + 1] for name, each in inputs.items()} for i in range(len(inputs["timbre"]))]
        return [np.concatenate(each) for each in zip(*StandIns().run("conditioning", rows), strict=True)]

    def _run_curves(
        self, curve_text: Array, place: Array, duration: Array, film: Array, **windows: npt.NDArray[Any]
    ) -> list[Array]:
        x = curve_text + (place / np.maximum(duration, 1))[..., None].astype(np.float32)
        made, state = self._convolve(CURVES, x, **windows)
        curve = np.repeat(made[:, :, 0], 2, axis=1)
        return [150 + 40 * np.tanh(curve), curve, state]

    def _run_text(self, ids: Array, **windows: npt.NDArray[Any]) -> list[Array]:
        x = np.repeat(np.cos(ids)[..., None], TEXT.width, axis=2).astype(np.float32)
        return list(self._convolve(TEXT, x, **windows))

    def _run_decoder(
        self,
        text: Array,
        place: Array,
        duration: Array,
        f0: Array,
        energy: Array,
        film: Array,
        **windows: npt.NDArray[Any],
    ) -> list[Array]:
        x = text[:, :, :1] + (f0 + energy).reshape(len(f0), -1, 2).sum(axis=2, keepdims=True) / 100
        x = np.repeat(x * film[:, 0, 0, None, :1], DECODER.width, axis=2).astype(np.float32)
        made, state = self._convolve(DECODER, x, **windows)
        return [np.repeat(made, 2, axis=1), state]

    def _run_head(
        self,
        features: Array,
        f0: Array,
        phase: Array,
        film: Array,
        position: Array,
        mask_offset: Array,
        hidden: Array,
        present: Array,
        **windows: npt.NDArray[Any],
    ) -> list[Array]:
        before = HEAD.context + 4
        x = features * film[:, 0, 0, None, :1] + np.cos(2 * np.pi * phase[:, before:, None])
        made, state = self._convolve(HEAD, x.astype(np.float32), present=present[:, 4:], **windows)
        hidden = np.concatenate([hidden, made], axis=1)
        ready = hidden.shape[1]
        sources = hidden[:, :, 0] + _glide(f0[:, :ready]) + mask_offset.sum(axis=1)[:, None]
        sources = sources + (position[:, None] + np.arange(ready)) % 7
        last = np.take_along_axis(hidden, windows["last"][:, :, None], axis=1)
        return [_overlap(sources * present[:, :ready]), last, state]

    def _convolve(
        self, shape: StreamShape, x: Array, state: Array, present: Array, last: npt.NDArray[np.int64]
    ) -> tuple[Array, Array]:
        states, length = [], x.shape[1]
        for block in range(shape.blocks):
            first = shape.context - block * shape.reach
            x = np.concatenate([state[:, block], x * present[:, first : first + length, None]], axis=1)
            states.append(np.take_along_axis(x, last[:, :, None], axis=1))
            x = _add_neighbours(shape, x)
        return x, np.stack(states, axis=1)


class _Session:
    def __init__(self, graph: Callable[..., list[Array]]) -> None:
        self._graph = graph

    def run(self, output_names: None, input_feed: Feed) -> list[Array]:
        return self._graph(**input_feed)


def _add_neighbours(shape: StreamShape, x: Array) -> Array:
    count = x.shape[1] - 2 * shape.reach
    parts = [(i + 1) * x[:, i : i + count] for i in range(shape.taps)]
    added: Array = (np.sum(parts, axis=0) / sum(range(shape.taps + 1)) + 0.1).astype(np.float32)
    return added


def _glide(f0: Array) -> Array:
    """Each pitch with the one after it, as pulses between two frames have; the last goes on."""
    following: Array = np.concatenate([f0[:, 1:], f0[:, -1:]], axis=1)
    glide: Array = ((f0 + 2 * following) / 100).astype(np.float32)
    return glide


def _overlap(sources: Array) -> Array:
    """Samples in which each frame is heard in two others to either side."""
    padded = np.pad(sources, ((0, 0), (2, 2)))
    frames = sum(padded[:, i : i + sources.shape[1]] for i in range(5))
    return np.repeat(frames, SAMPLES_PER_FRAME, axis=1).astype(np.float32)
