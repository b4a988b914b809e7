"""The search for a likeness finds what it is shown, and can be stopped at any time."""

from collections.abc import Callable

import numpy as np
import pytest

from svc.cloning.directions import COUNT, Offset
from svc.cloning.search import GENERATIONS, TRIALS, Search

SOMEBODY: Offset = (0.4 * np.sign(np.random.default_rng(3).standard_normal(COUNT))).astype(np.float32)


def likeness(trial: Offset) -> float:
    return 1 - float(np.linalg.norm(trial - SOMEBODY))


def found_by(search: Search, listener: Callable[[Offset], float], generations: int = GENERATIONS) -> Search:
    for _ in range(generations):
        search = search.after([listener(trial) for trial in search.trials()])
    return search


def found(search: Search, generations: int = GENERATIONS) -> Search:
    return found_by(search, likeness, generations)


def test_it_comes_nearer() -> None:
    start = Search.start()
    end = found(start)
    assert likeness(end.centre) > likeness(start.centre) + 0.3
    assert (start.done, end.done) == (False, True)
    progress = [search.progress for search in (start, found(start, 5), end)]
    assert progress == pytest.approx([0, 5 / GENERATIONS, 1], abs=0.001)


def test_every_direction_is_tried_both_ways() -> None:
    search, tried = Search.start(), set[tuple[int, bool]]()
    while not search.done:
        for trial in search.trials()[1:]:
            (direction,) = np.nonzero(trial - search.centre)[0]
            tried.add((int(direction), bool(trial[direction] > search.centre[direction])))
        search = search.after([0.0] * TRIALS)
    assert len(tried) == 2 * COUNT


def test_it_does_not_stray_where_it_makes_no_difference() -> None:
    search = Search.start()
    for _ in range(GENERATIONS):
        search = search.after([float(trial[3]) for trial in search.trials()])
    assert search.centre[3] > 0.5
    assert np.count_nonzero(search.centre) == 1


def test_among_what_is_alike_it_stays_near_the_clone() -> None:
    away = Search(0, np.full(COUNT, 3, dtype=np.float32))
    assert np.linalg.norm(found_by(away, lambda _: 0.5).centre) < 0.7 * np.linalg.norm(away.centre)


def test_stored_and_read_back_it_goes_on_as_if_nothing_had_happened() -> None:
    stopped = found(Search.start(), 7)
    resumed = found(Search.from_json(stopped.to_json()), GENERATIONS - 7)
    assert np.array_equal(resumed.centre, found(Search.start()).centre)


@pytest.mark.parametrize(
    "change",
    [
        {"centre": [0.0]},
        {"centre": None},
        {"centre": [float("nan")] * COUNT},
        {"centre": [100.0] * COUNT},
        {"generation": -1},
        {"generation": "x"},
        {"generation": None},
    ],
)
def test_a_damaged_search_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Search.from_json(Search.start().to_json() | change)
