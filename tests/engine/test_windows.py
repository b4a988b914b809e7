import itertools

import numpy as np

from svc.engine.windows import between_pauses


def _cut(phonemes: str, frames: dict[str, int]) -> list[str]:
    durations = [frames.get(symbol, 10) for symbol in phonemes]
    starts = np.concatenate([[0], np.cumsum(durations)])
    return [phonemes[window.first : window.last] for window in between_pauses(phonemes, starts)]


def test_cut_at_pauses_only() -> None:
    assert _cut("abcdef, ghijklmnop", {",": 20}) == ["abcdef,", " ghijklmnop"]
    assert _cut("abcdef ghijklmnop", {}) == ["abcdef ghijklmnop"]


def test_a_mark_without_a_pause_is_no_place_to_cut() -> None:
    assert _cut("abcdef, ghijklmnop", {",": 2}) == ["abcdef, ghijklmnop"]


def test_first_part_is_short_and_later_ones_longer() -> None:
    assert _cut("abcdef, ghijkl, mnopqr, stuvwxyz", {",": 20}) == ["abcdef,", " ghijkl, mnopqr, stuvwxyz"]


def test_windows_cover_everything_once() -> None:
    phonemes = "one, two and more; three? four! five " * 5
    durations = [15 if symbol in ",;?!" else 4 for symbol in phonemes]
    starts = np.concatenate([[0], np.cumsum(durations)]) + 7
    found = list(between_pauses(phonemes, starts))
    assert found[0].start == 7
    assert found[-1].end == starts[-1]
    assert all(left.end == right.start and left.last == right.first for left, right in itertools.pairwise(found))


def test_without_a_pause_it_is_cut_between_words() -> None:
    text = "word " * 100
    parts = _cut(text, {})
    assert "".join(parts) == text
    assert all(len(part) * 10 <= 660 and part.endswith(" ") for part in parts)


def test_an_endless_word_is_left_whole() -> None:
    assert _cut("a" * 300, {}) == ["a" * 300]
