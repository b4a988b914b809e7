"""Where an utterance is split, so that the vocoder can render it window by window."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# A short first window, so that playback starts soon. Each is longer than the one before, up to a
# bound: another stream waits for as long as one takes.
_FIRST_STEP, _GROWTH, LONGEST_STEP = 16, 2, 128


@dataclass(frozen=True, slots=True)
class Window:
    """The phonemes `first:last` of an utterance, and the frames `start:end` that hold them."""

    first: int
    last: int
    start: int
    end: int


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
