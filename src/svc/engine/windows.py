"""Where an utterance is split, so that the vocoder can render it window by window."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# `split_at_pauses`
_PAUSE_MARKS = frozenset(",;:—….!?")
_MIN_PAUSE_FRAMES = 6  # a mark that the voice does not pause at is no place to split
_FIRST_FRAMES = 40  # half a second: playback starts after the first phrase
_LATER_FRAMES = 200  # every split costs an overlap and the vocoder's context, so later windows are longer
_MAX_FRAMES = 640  # eight seconds: bounds memory, and the time for which another stream waits

# `split_into_steps`: a short first window, so that playback starts soon. Each is longer than the one before, up to a
# bound: another stream waits for as long as one takes.
_FIRST_STEP, _GROWTH, LONGEST_STEP = 16, 2, 128


@dataclass(frozen=True, slots=True)
class Window:
    """The phonemes `first:last` of an utterance, and the frames `start:end` that hold them."""

    first: int
    last: int
    start: int
    end: int


def split_at_pauses(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
    """Splits an utterance in the middle of its pauses; `starts` holds the first frame of each phoneme, and the end.

    Where no pause comes for too long, it splits at the last space between words.
    """
    first, start = 0, int(starts[0])
    space = 0  # the last one since the last split
    for index, symbol in enumerate(phonemes):
        begin, end = int(starts[index]), int(starts[index + 1])
        if end - start > _MAX_FRAMES and space > first:
            middle = int(starts[space] + starts[space + 1]) // 2
            yield Window(first, space + 1, start, middle)
            first, start = space + 1, middle
        if symbol == " ":
            space = index
        min_frames = _LATER_FRAMES if first else _FIRST_FRAMES
        is_pause = symbol in _PAUSE_MARKS and end - begin >= _MIN_PAUSE_FRAMES
        if is_pause and end - start >= min_frames and starts[-1] - end >= _FIRST_FRAMES:
            middle = (begin + end) // 2
            yield Window(first, index + 1, start, middle)
            first, start = index + 1, middle
    yield Window(first, len(phonemes), start, int(starts[-1]))


def split_into_steps(
    phonemes: str, starts: npt.NDArray[np.int64], longest: int = LONGEST_STEP, shortest: int = _FIRST_STEP
) -> Iterator[Window]:
    """Splits an utterance between words into windows that grow and are bounded pieces of work; the first is `shortest`.

    A window is as long as `longest` or a word longer; twice as long, and it is cut. Windows that a very long word is
    cut into have no phonemes of their own, except the first.
    """
    first, start, least = 0, int(starts[0]), shortest
    for index, symbol in enumerate(phonemes):
        end = int(starts[index + 1])
        if symbol == " " and end - start >= least and starts[-1] - end >= _FIRST_STEP // 2:
            yield from _cut(Window(first, index + 1, start, end), 2 * longest)
            first, start, least = index + 1, end, min(least * _GROWTH, longest)
    yield from _cut(Window(first, len(phonemes), start, int(starts[-1])), 2 * longest)


def _cut(window: Window, frames: int) -> Iterator[Window]:
    """The window, or several if it is longer: a word may last for seconds."""
    first = window.first
    for start in range(window.start, window.end, frames):
        yield Window(first, window.last, start, min(start + frames, window.end))
        first = window.last
