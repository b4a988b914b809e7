"""Where the sound of an utterance is made in parts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# For a generator that has to be cut at pauses.
_PAUSES = frozenset(",;:—….!?")
_PAUSE_FRAMES = 6  # a mark that the voice does not pause at is no place to cut
_FIRST_FRAMES = 40  # half a second: speech starts after the first phrase
_LATER_FRAMES = 200  # each part costs some overlap and forgets its neighbours: later ones are longer
_MOST_FRAMES = 640  # eight seconds: bounds memory, and how long another stream waits for its turn

# For a head that can be cut anywhere: the first window is short, so that speech starts at once, and each is longer
# than the one before, as long as it is made faster than it is heard.
_FIRST_WINDOW, _GROWTH, _LONGEST_WINDOW = 48, 2, 320


@dataclass(frozen=True, slots=True)
class Window:
    """The phonemes `first:last` of an utterance, and the frames `start:end` of its sound."""

    first: int
    last: int
    start: int
    end: int


def between_pauses(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
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


def between_words(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
    """Cuts an utterance between words, into windows that grow."""
    first, wanted = 0, _FIRST_WINDOW
    for index, symbol in enumerate(phonemes):
        end = int(starts[index + 1])
        if symbol == " " and end - starts[first] >= wanted and starts[-1] - end >= _FIRST_WINDOW // 2:
            yield Window(first, index + 1, int(starts[first]), end)
            first, wanted = index + 1, min(wanted * _GROWTH, _LONGEST_WINDOW)
    yield Window(first, len(phonemes), int(starts[first]), int(starts[-1]))
