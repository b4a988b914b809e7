"""Where utterances are split into windows."""

import itertools

import numpy as np

from svc.engine.windows import LONGEST_STEP, split_into_steps


def test_steps_cover_everything_once_and_are_bounded() -> None:
    phonemes = "a word of it and " + "x" * 100 + " more words " * 10
    starts = 10 + np.arange(len(phonemes) + 1) * 6
    steps = list(split_into_steps(phonemes, starts))
    assert steps[0].start == 10
    assert steps[0].end - steps[0].start <= 48
    assert steps[-1].end == starts[-1]
    assert all(left.end == right.start and left.last == right.first for left, right in itertools.pairwise(steps))
    assert max(step.end - step.start for step in steps) <= 2 * LONGEST_STEP
    assert "".join(phonemes[step.first : step.last] for step in steps) == phonemes


def test_a_long_word_belongs_to_the_step_in_which_it_begins() -> None:
    steps = list(split_into_steps("x" * 100, np.arange(101) * LONGEST_STEP // 16))
    assert [(step.first, step.last) for step in steps] == [(0, 100), (100, 100), (100, 100), (100, 100)]
