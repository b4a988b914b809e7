"""Stand-ins in numpy for svc-turbo's networks, which look as far to either side as the real ones.

So a frame too few or too many is noticed, without the files of the networks.
"""

from collections.abc import Sequence

import numpy as np

from svc.engine.networks import CURVES, DECODER, HEAD, TEXT, Feed, StreamShape
from svc.engine.phonemes import SAMPLES_PER_FRAME
from svc.engine.protocol import Array


class StandIns:
    """Networks that are sums over as many neighbours as the real ones see."""

    def __init__(self, *, phase: bool = True) -> None:
        self._phase = phase
        """Whether phase and position, which count from where rendering began, are heard."""

    def run(self, graph: str, feed: Feed) -> Sequence[Array]:
        outputs: Sequence[Array] = getattr(self, f"_run_{graph}")(feed)
        return outputs

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
