"""Where the sound of an utterance may be made in parts: at its pauses."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_PAUSES = frozenset(",;:—….!?")
_PAUSE_FRAMES = 6  # a mark that the voice does not pause at is no place to cut
_FIRST_FRAMES = 40  # half a second: speech starts after the first phrase
_LATER_FRAMES = 200  # each part costs some overlap and forgets its neighbours: later ones are longer
_MOST_FRAMES = 640  # eight seconds: bounds memory, and how long another stream waits for its turn


@dataclass(frozen=True, slots=True)
class Window:
    """The phonemes `first:last` of an utterance, and the frames `start:end` of its sound."""

    first: int
    last: int
    start: int
    end: int


def windows(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
    """Cuts an utterance into windows; `starts` are the frames where each phoneme begins, and the end.

    A cut is made in the middle of a pause; where none comes for too long, in the last space between words.
    """
    first, start = 0, int(starts[0])
    space = 0  # the last one since the last cut, where a cut would do no great harm
    for index, symbol in enumerate(phonemes):
        begin, end = int(starts[index]), int(starts[index + 1])
        if end - start > _MOST_FRAMES and space > first:
            middle = int(starts[space] + starts[space + 1]) // 2
            yield Window(first, space + 1, start, middle)
            first, start = space + 1, middle
        if symbol == " ":
            space = index
        wanted = _LATER_FRAMES if first else _FIRST_FRAMES
        is_pause = symbol in _PAUSES and end - begin >= _PAUSE_FRAMES
        if is_pause and end - start >= wanted and starts[-1] - end >= _FIRST_FRAMES:
            middle = (begin + end) // 2
            yield Window(first, index + 1, start, middle)
            first, start = index + 1, middle
    yield Window(first, len(phonemes), start, int(starts[-1]))
