"""What every engine makes of an utterance's phonemes: tokens, and the frames in which each is heard."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import Array, Delivery, Timing, Utterance
from svc.text.g2p.vocabulary import VOCABULARY

SAMPLE_RATE = 24_000
FRAMES_PER_SECOND = 80  # of features and pitch; durations count pairs of frames
SAMPLES_PER_FRAME = 300
MAX_PHONEMES = 510

_ONSET_LEAD = 6  # frames by which a phoneme is heard before its predicted start (measured)
_LEADING_SILENCE = 4  # frames kept before the first phoneme; the networks predict up to 26
_SEED_DEVIATION = 0.04  # standard deviation of what a seed adds to the prosody half of the style
_PAD = 0


def tokenize(utterance: Utterance) -> npt.NDArray[np.int64]:
    """[1, tokens]: the phonemes with their context, and padding at both ends."""
    phonemes = utterance.before + utterance.phonemes + utterance.after
    return np.array([[_PAD, *(VOCABULARY[symbol] for symbol in phonemes), _PAD]], dtype=np.int64)


def vary_prosody(prosody: Array, delivery: Delivery) -> Array:
    """The prosody half of a style with the variation that the seed selects."""
    if delivery.seed is None:
        return prosody
    rng = np.random.default_rng(delivery.seed)
    return prosody + _SEED_DEVIATION * rng.standard_normal(prosody.shape, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class PhonemeFrames:
    """Where the phonemes of an utterance lie among its frames, those of the context included."""

    starts: npt.NDArray[np.int64]
    """The first frame of each phoneme of the utterance, and the end of the last one."""
    onset: int
    """The frame at which the first phoneme is heard: `starts[0]` lies before it by the leading silence."""

    def timings(self, first: int, last: int) -> tuple[Timing, ...]:
        """The timings of the phonemes `first:last`."""
        seconds = (np.maximum(self.starts, self.onset) - self.starts[0]) / FRAMES_PER_SECOND
        return tuple(Timing(i, float(seconds[i]), float(seconds[i + 1])) for i in range(first, last))


def locate_phonemes(durations: npt.NDArray[np.int64], utterance: Utterance) -> PhonemeFrames:
    """`durations` [tokens], in pairs of frames.

    Without context, the silence before and after the phonemes is part of the utterance; with context, it is not.
    """
    ends = 2 * np.cumsum(durations)
    frames = np.concatenate([[0], np.maximum(ends[:-1] - _ONSET_LEAD, 0), ends[-1:]])
    first = 1 + len(utterance.before)  # the tokens: padding, before, phonemes, after, padding
    starts = frames[first : first + len(utterance.phonemes) + 1].copy()
    onset = int(starts[0])
    if not utterance.before:
        starts[0] = max(0, onset - _LEADING_SILENCE)
    if not utterance.after:
        starts[-1] = frames[-1]
    return PhonemeFrames(starts, onset)
