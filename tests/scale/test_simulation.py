"""The simulation behind docs/capacity.md."""

import math
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from bench.scale import capacity_table
from bench.scale.capacity_table import TWO_CORES
from bench.scale.simulation import Machine, Text, simulate, split

ROOT = Path(__file__).parents[2]
UNLIMITED = Machine(
    "", workers=1, speech_a_second=10.0, request_seconds=0, max_load=math.inf, max_streams=10**9, max_waiting=10**9
)


@pytest.mark.parametrize("phase", range(2))
def test_it_agrees_with_what_was_measured(phase: int) -> None:
    name, rate, texts, measured = list(capacity_table.measure_points())[phase]
    simulated = capacity_table.simulate_point([TWO_CORES], texts, rate, 600.0)
    assert simulated.accepted == pytest.approx(measured.accepted, abs=0.1), name
    assert simulated.speech_a_second == pytest.approx(measured.speech_a_second, rel=0.15), name
    assert simulated.median == pytest.approx(measured.median, rel=0.35), name
    assert simulated.late == pytest.approx(measured.late, rel=0.35), name
    assert simulated.starved == measured.starved == 0


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_it_agrees_with_queueing_theory(load: float) -> None:
    """Texts of one step each, all alike, on one worker: M/D/1, whose mean wait is known."""
    step = 0.03
    outcomes = simulate([UNLIMITED], [Text(0.3)], load / step, 3000 * step / load)
    assert mean(each.first_byte for each in outcomes) == pytest.approx(step + load * step / (2 * (1 - load)), rel=0.1)


def test_every_text_is_answered_or_refused_however_many_there_are() -> None:
    outcomes = simulate([TWO_CORES], [Text(8.0), Text(8.0, live=False)], 14.0, 60.0)
    refused = [each for each in outcomes if each.refused]
    assert 0.5 < len(refused) / len(outcomes) < 0.9
    assert all(math.isfinite(each.first_byte) != each.refused for each in outcomes)
    assert not any(each.starved for each in outcomes)


def test_a_machine_that_is_too_slow_starves_its_listeners() -> None:
    machine = replace(UNLIMITED, speech_a_second=0.9)
    (outcome,) = simulate([machine], [Text(20.0)], 1e-9, 1.0)
    assert outcome.starved > 1.0


def test_twice_the_machines_hold_twice_the_texts() -> None:
    texts = capacity_table.make_live_texts()
    one = capacity_table.simulate_point([TWO_CORES], texts, 0.6, 600.0)
    two = capacity_table.simulate_point([TWO_CORES] * 2, texts, 1.2, 600.0)
    assert one.accepted == two.accepted == 1
    assert two.speech_a_second == pytest.approx(2 * one.speech_a_second, rel=0.1)
    assert two.late <= one.late  # the balancer finds the one that has less to do


@pytest.mark.parametrize("seconds", [0.3, 0.9, 3.7, 4.0, 13.0, 61.0])
def test_the_steps_of_a_text_are_the_whole_text(seconds: float) -> None:
    steps = list(split(seconds, 0.1))
    assert sum(audio for _, audio in steps) == pytest.approx(seconds)
    assert sum(work for work, _ in steps) == pytest.approx(0.1 * seconds)


def test_the_guide_has_the_figures_of_the_simulation() -> None:
    guide = (ROOT / "docs/capacity.md").read_text()
    for row in capacity_table.make_table().rows:
        assert f"| {' | '.join(row)} |" in guide
