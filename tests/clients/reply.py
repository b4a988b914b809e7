"""What a client got: sound, and words that each begin at some second of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from svc.audio.samples import Samples

Words = Sequence[tuple[str, float]]

# How rough Whisper's own times are: it may count a pause to the word that follows.
_OFF_BY, _TYPICALLY_OFF_BY = 0.7, 0.15


@dataclass(frozen=True)
class Reply:
    audio: bytes
    """16-bit PCM, 24,000 a second."""
    words: Words

    @property
    def samples(self) -> Samples:
        return (np.frombuffer(self.audio, "<i2") / 32_768).astype(np.float32)

    @property
    def seconds(self) -> float:
        return len(self.audio) / 2 / 24_000

    @property
    def text(self) -> str:
        return " ".join(word.strip() for word, _ in self.words)

    def check_order(self) -> None:
        """Each word begins after the last one, and while there is sound."""
        starts = [start for _, start in self.words]
        assert starts == sorted(set(starts))
        assert starts[0] >= 0
        assert starts[-1] < self.seconds

    def check_hearing(self, transcribe_words: Callable[[Samples], Words]) -> None:
        """The words begin when they are heard to."""
        heard = transcribe_words(self.samples)
        assert self.text.lower().replace(".", "") == " ".join(word for word, _ in heard)
        # Some clients do not tell when the sound began, so that both count from the first word.
        (_, first), (_, first_heard) = self.words[0], heard[0]
        off = [
            abs((start - first) - (start_heard - first_heard))
            for (_, start), (_, start_heard) in zip(self.words, heard, strict=True)
        ]
        assert max(off) < _OFF_BY, off
        assert median(off) < _TYPICALLY_OFF_BY, off


def words_of(alignments: Iterable[dict[str, Any]]) -> Words:
    """The words of frames that count from 0 each: every one goes on where the last one ended."""
    words: list[tuple[str, float]] = []
    began, within = 0, False
    for alignment in alignments:
        starts, lengths = alignment["charStartTimesMs"], alignment["charDurationsMs"]
        for character, start in zip(alignment["chars"], starts, strict=True):
            if character.isspace():
                within = False
            elif within:
                words[-1] = (words[-1][0] + character, words[-1][1])
            else:
                words.append((character, (began + start) / 1000))
                within = True
        began += starts[-1] + lengths[-1]
    return words
