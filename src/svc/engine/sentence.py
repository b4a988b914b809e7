"""A sentence on its way through svc-turbo's networks: what each is given for a window, and what it has made.

Frames are 25 ms long; pitch, energy and features have two values for each ("half frames"). To be heard up to a frame,
the head needs features up to 7 frames later, the decoder pitch and text up to 12 frames after those, and the curves
the encoding up to 24 frames after those.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples
from svc.engine.networks import CURVES, DECODER, HEAD, TEXT, Feed, Stream
from svc.engine.phonemes import FRAMES_PER_SECOND, SAMPLES_PER_FRAME, locate_phonemes
from svc.engine.protocol import Array, Utterance

Integers = npt.NDArray[np.int64]

_SYMBOLS = 178
_MEAN, _SPREAD = 1, 2  # of the logarithm of the pitch, among the values of the curves' summary
_TYPICAL_PITCH = 150.0  # Hz, to which that logarithm is relative
_SOURCE_CONTEXT = 2  # half frames to either side that the head's pulses and its inverse Fourier transform reach
_HEAD_CONTEXT = (HEAD.context + _SOURCE_CONTEXT) // 2


class Sentence:
    """The `feed_` methods return None where a network has nothing more to do for the audio before the frame `end`."""

    def __init__(self, utterance: Utterance, ids: Integers, prosody: Sequence[Array]) -> None:
        """`prosody`: the outputs of that graph."""
        durations, self._curve_text, self._curve_film, curve_summary = prosody
        self._ids, self._utterance = ids, utterance
        self._durations = durations[0].astype(np.int64)
        self.phonemes = locate_phonemes(self._durations, utterance)
        self._token, self._place = expand(self._durations)
        curve_summary = scale_summary(curve_summary, utterance.pitch_scale, utterance.delivery.pitch_range)
        self._mean_pitch = _TYPICAL_PITCH * float(np.exp(curve_summary[0, _MEAN]))
        self.summary = summarise(ids[0], self._durations, curve_summary)
        self._open_streams()

    def _open_streams(self) -> None:
        """After a context the networks do not begin at the first frame, but where those after them look back to."""
        total, tokens = len(self._token), self._ids.shape[1]
        first_heard = int(self.phonemes.starts[0]) // 2
        first = max(0, first_heard - _HEAD_CONTEXT)
        self._head = Stream(HEAD, 2 * first, 2 * total)
        first = max(0, first - DECODER.context)
        self._decoder = Stream(DECODER, first, total)
        self._text = Stream(TEXT, max(0, int(self._token[first]) - TEXT.context), tokens)
        self._curves = Stream(CURVES, max(0, first - CURVES.context), total)
        self._f0, self._energy, self._phase = (np.zeros((1, 2 * total), dtype=np.float32) for _ in range(3))
        self._cycles = 0.0
        self._encoded_text = np.zeros((1, tokens, TEXT.width), dtype=np.float32)
        self._features = self._hidden = np.zeros((1, 0, HEAD.width), dtype=np.float32)
        self._wave = np.zeros(total * 2 * SAMPLES_PER_FRAME, dtype=np.float32)

    def condition(self, outputs: Sequence[Array]) -> None:
        """Takes what voice and sentence do to every frame; needed before the decoder."""
        self._film, self._head_film = outputs

    def feed_curves(self, end: int) -> Feed | None:
        if (step := self._curves.feed(end + _HEAD_CONTEXT + DECODER.context)) is None:
            return None
        frames, feed = step
        token = self._token[frames]
        return {"curve_text": self._curve_text[:, token], **self._locate(frames), "film": self._curve_film, **feed}

    def store_curves(self, outputs: Sequence[Array]) -> None:
        f0, energy, state = outputs
        made = _in_half_frames(self._curves.keep(state))
        utterance = self._utterance
        f0 = scale_pitch_range(f0 * np.float32(utterance.pitch_scale), self._mean_pitch, utterance.delivery.pitch_range)
        self._f0[:, made], self._energy[:, made] = f0, energy
        self._phase[:, made], self._cycles = accumulate_phase(f0, self._cycles)

    def feed_text(self, end: int) -> Feed | None:
        last = min(len(self._token), end + _HEAD_CONTEXT + DECODER.context) - 1
        if (step := self._text.feed(int(self._token[last]) + 1)) is None:
            return None
        tokens, feed = step
        return {"ids": self._ids[:, tokens], **feed}

    def store_text(self, outputs: Sequence[Array]) -> None:
        text, state = outputs
        self._encoded_text[:, self._text.keep(state)] = text

    def feed_decoder(self, end: int) -> Feed | None:
        if (step := self._decoder.feed(end + _HEAD_CONTEXT)) is None:
            return None
        frames, feed = step
        text, half = self._encoded_text[:, self._token[frames]], _in_half_frames(frames)
        curves = {"f0": self._f0[:, half], "energy": self._energy[:, half]}
        return {"text": text, **self._locate(frames), **curves, "film": self._film, **feed}

    def store_decoder(self, outputs: Sequence[Array]) -> None:
        features, state = outputs
        made = _in_half_frames(self._decoder.keep(state))
        missing = self._head.given + self._features.shape[1]  # features before these are of no use
        features = features[:, missing - made.start :]
        # As a rule the head has had all that were made before.
        self._features = np.concatenate([self._features, features], axis=1) if self._features.size else features

    def feed_head(self, end: int) -> Feed | None:
        if (step := self._head.feed(2 * end + _SOURCE_CONTEXT)) is None:
            return None
        frames, feed = step
        position = self._head.made - self._hidden.shape[1]
        return {
            "features": self._features[:, : frames.stop - frames.start],
            "f0": self._f0[:, position : frames.stop],
            "phase": self._phase[:, position : frames.stop],
            "film": self._head_film,
            "position": np.array([position], dtype=np.int64),
            "mask_offset": self._utterance.mask_offset[None],
            "hidden": self._hidden,
            **feed,
        }

    def store_head(self, outputs: Sequence[Array]) -> None:
        wave, hidden, state = outputs
        given, made = self._head.given, self._head.keep(state)
        self._features = self._features[:, self._head.given - given :]
        kept = self._hidden.shape[1]  # half frames of the window before, which are in this wave again
        self._hidden = hidden
        left = _SOURCE_CONTEXT if kept else 0
        right = 0 if self._head.finished else _SOURCE_CONTEXT
        first, last = made.start - kept + left, made.stop - right
        samples = wave[0, left * SAMPLES_PER_FRAME :][: (last - first) * SAMPLES_PER_FRAME]
        self._wave[first * SAMPLES_PER_FRAME : last * SAMPLES_PER_FRAME] = samples

    def take(self, start: int, end: int) -> Samples:
        """The audio of the frames `start:end`, which are rendered."""
        return self._wave[2 * start * SAMPLES_PER_FRAME : 2 * end * SAMPLES_PER_FRAME]

    def _locate(self, frames: slice) -> Feed:
        """Where in its phoneme each of the frames lies, and how long that is."""
        return {"place": self._place[None, frames], "duration": self._durations[None, self._token[frames]]}


def expand(durations: Integers) -> tuple[Integers, Integers]:
    """Of each frame, the index of its token and its place in it. durations [tokens]"""
    token = np.repeat(np.arange(len(durations)), durations)
    return token, np.arange(len(token)) - (np.cumsum(durations) - durations)[token]


def accumulate_phase(f0: Array, cycles: float) -> tuple[Array, float]:
    """The phase of the fundamental in cycles, modulo 1, and all cycles, which the next window continues from."""
    accumulated = cycles + np.cumsum(f0.astype(np.float64) / FRAMES_PER_SECOND, axis=1)
    return (accumulated % 1.0).astype(np.float32), float(accumulated[0, -1])


def summarise(ids: Integers, durations: Integers, curves: Array) -> Array:
    """What the decoder is told of the whole sentence: shares of the phonemes in its time, curves, length.

    ids, durations [tokens]; curves [1, 5], as the prosody predicts them → [1, 184]
    """
    total = durations.sum()
    shares = np.bincount(ids, weights=durations, minlength=_SYMBOLS) * (10 / total)
    return np.concatenate([shares[None], curves, [[np.log(total / 160)]]], axis=1).astype(np.float32)


def scale_summary(curves: Array, pitch_scale: float, pitch_range: float) -> Array:
    """The summary of the curves after the pitch is changed."""
    scaled = curves.copy()
    scaled[:, _MEAN] += np.log(pitch_scale)
    scaled[:, _SPREAD] *= pitch_range
    return scaled


def scale_pitch_range(f0: Array, centre: float, pitch_range: float) -> Array:
    """Widens or narrows the pitch around the centre, in octaves. Unvoiced frames are near 0 Hz and stay there."""
    if pitch_range == 1.0:
        return f0
    interval = np.clip(f0 / centre, 0.5, 2.0)
    scaled: Array = (f0 * interval ** (pitch_range - 1.0)).astype(np.float32)
    return scaled


def _in_half_frames(frames: slice) -> slice:
    return slice(2 * frames.start, 2 * frames.stop)
