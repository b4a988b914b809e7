"""Where the sound of an utterance may be made in parts: at its pauses."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_PAUSES = frozenset(",;:—….!?")
_FIRST_FRAMES = 40  # half a second: speech starts after the first phrase
_LATER_FRAMES = 200  # each part costs some overlap and forgets its neighbours: later ones are longer
_PAUSE_FRAMES = 6  # a mark that the voice does not pause at is no place to cut


@dataclass(frozen=True, slots=True)
class Window:
    """The phonemes `first:last` of an utterance, and the frames `start:end` of its sound."""

    first: int
    last: int
    start: int
    end: int


def windows(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
    """Cuts an utterance in the middle of pauses; `starts` are the frames where each phoneme begins, and the end."""
    first, start = 0, int(starts[0])
    for index, symbol in enumerate(phonemes):
        begin, end = int(starts[index]), int(starts[index + 1])
        wanted = _LATER_FRAMES if first else _FIRST_FRAMES
        if (
            symbol in _PAUSES
            and end - begin >= _PAUSE_FRAMES
            and end - start >= wanted
            and starts[-1] - end >= _FIRST_FRAMES
        ):
            middle = (begin + end) // 2
            yield Window(first, index + 1, start, middle)
            first, start = index + 1, middle
    yield Window(first, len(phonemes), start, int(starts[-1]))
