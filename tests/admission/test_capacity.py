"""What the engine can hold follows from its real-time factor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.admission.capacity import Demand, bound_load, load

_SECONDS = st.floats(0, 100)


def test_listeners_who_want_audio_now_add_up() -> None:
    assert load([Demand(0, 10)] * 5, 0.1) == pytest.approx(0.5)


def test_who_has_minutes_of_audio_is_no_burden_now() -> None:
    assert load([Demand(600, 600), *[Demand(0, 3)] * 5], 0.1) == pytest.approx(0.5)


def test_a_long_text_is_a_burden_as_soon_as_it_has_to_be_made() -> None:
    assert load([Demand(1, 600), *[Demand(0, 3)] * 5], 0.1) > 0.5


def test_beginning_takes_its_time() -> None:
    assert load([Demand(1, 10, start_seconds=0.25)] * 3, 0.01) == pytest.approx(0.75)


def test_workers_share_the_burden() -> None:
    assert load([Demand(0, 10)] * 5, 0.1, workers=4) == pytest.approx(0.125)


def test_nobody_is_no_burden() -> None:
    assert load([], 0.1) == 0


@given(
    st.lists(st.tuples(_SECONDS, st.floats(0.1, 100), st.booleans())),
    st.floats(0, 1),
    st.floats(0.01, 2),
    st.integers(1, 8),
)
def test_the_bound_is_never_below_the_load(
    listeners: list[tuple[float, float, bool]], start_seconds: float, factor: float, workers: int
) -> None:
    demands = [
        Demand(buffered, remaining, start_seconds if starts else 0.0) for buffered, remaining, starts in listeners
    ]
    starts = [buffered for buffered, _, starts in listeners if starts]
    assert bound_load(len(demands), starts, start_seconds, factor, workers) >= load(demands, factor, workers) - 1e-6


def test_the_bound_of_listeners_who_want_audio_now_is_their_load() -> None:
    assert bound_load(5, [], 0.1, 0.1, workers=2) == pytest.approx(load([Demand(0, 10)] * 5, 0.1, workers=2))


@given(st.lists(st.tuples(_SECONDS, st.floats(0.1, 100)), min_size=1, max_size=6), st.floats(0.01, 2))
def test_an_engine_with_room_meets_every_deadline(listeners: list[tuple[float, float]], factor: float) -> None:
    """An engine that makes the most urgent audio first, in small steps, starves nobody if the load is below 1."""
    if load([Demand(*each) for each in listeners], factor) > 0.95:
        return
    step = 0.01  # seconds of the engine
    tolerance = (len(listeners) + 1) * step  # those who have nothing at first wait for the first steps of the others
    buffered = {index: each[0] for index, each in enumerate(listeners)}
    remaining = {index: each[1] for index, each in enumerate(listeners)}
    while remaining:
        urgent = min(remaining, key=lambda index: buffered[index])
        made = min(step / factor, remaining[urgent])
        for index in remaining:
            buffered[index] -= made * factor
        assert min(buffered[index] for index in remaining) > -tolerance, "a listener starves"
        buffered[urgent] += made
        remaining[urgent] -= made
        remaining = {index: left for index, left in remaining.items() if left > 1e-9}
