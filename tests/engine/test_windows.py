"""Where utterances are split into windows."""

import itertools

import numpy as np

from svc.engine.windows import LONGEST_STEP, split_at_pauses, split_into_steps


def split(phonemes: str, frames: dict[str, int]) -> list[str]:
    durations = [frames.get(symbol, 10) for symbol in phonemes]
    starts = np.concatenate([[0], np.cumsum(durations)])
    return [phonemes[window.first : window.last] for window in split_at_pauses(phonemes, starts)]


def test_split_at_pauses_only() -> None:
    assert split("abcdef, ghijklmnop", {",": 20}) == ["abcdef,", " ghijklmnop"]
    assert split("abcdef ghijklmnop", {}) == ["abcdef ghijklmnop"]


def test_no_split_at_a_mark_without_a_pause() -> None:
    assert split("abcdef, ghijklmnop", {",": 2}) == ["abcdef, ghijklmnop"]


def test_first_window_is_short_and_later_ones_longer() -> None:
    assert split("abcdef, ghijkl, mnopqr, stuvwxyz", {",": 20}) == ["abcdef,", " ghijkl, mnopqr, stuvwxyz"]


def test_windows_cover_everything_once() -> None:
    phonemes = "one, two and more; three? four! five " * 5
    durations = [15 if symbol in ",;?!" else 4 for symbol in phonemes]
    starts = np.concatenate([[0], np.cumsum(durations)]) + 7
    windows = list(split_at_pauses(phonemes, starts))
    assert windows[0].start == 7
    assert windows[-1].end == starts[-1]
    assert all(left.end == right.start and left.last == right.first for left, right in itertools.pairwise(windows))


def test_without_a_pause_it_splits_between_words() -> None:
    phonemes = "word " * 100
    parts = split(phonemes, {})
    assert "".join(parts) == phonemes
    assert all(len(part) * 10 <= 660 and part.endswith(" ") for part in parts)


def test_a_word_of_any_length_is_not_split() -> None:
    assert split("a" * 300, {}) == ["a" * 300]


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
