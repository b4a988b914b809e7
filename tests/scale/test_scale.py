"""The benchmarks of cores and replicas, without the engine: what they count, and when a bar is met."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bench.scale import cores, ray_cost, replicas, speakers
from bench.scale.replicas import Speech
from bench.scale.speakers import Measured


def test_the_threads_of_a_core_are_taken_together(tmp_path: Path) -> None:
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings)
    assert cores.order_cores([0, 1, 2, 3], tmp_path) == [0, 2, 1, 3]
    assert cores.order_cores([0, 1], tmp_path / "none") == [0, 1]


def test_what_is_started_runs_on_the_chosen_cores() -> None:
    before = os.sched_getaffinity(0)
    with cores.pin([min(before)]):
        seen = subprocess.check_output(["grep", "Cpus_allowed_list", "/proc/self/status"], text=True).split()[-1]
    assert seen == str(min(before))
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("most", [0, 1, 7, 12])
def test_the_most_that_holds_is_found(most: int) -> None:
    async def holds(number: int) -> bool:
        return number <= most

    assert asyncio.run(speakers.find_most(holds, 12)) == most


def test_of_two_rounds_the_better_number_counts() -> None:
    first, second = Measured(60.0, 30, 0.2, 0.002, {30: 0}), Measured(50.0, 40, 0.1, 0.003, {40: 0})
    assert first.join(second) == second.join(first) == Measured(60.0, 40, 0.1, 0.002, {30: 0, 40: 0})


@pytest.mark.parametrize(
    ("speech", "listeners", "bar"), [(60.0, 36, "met"), (59.0, 36, "missed"), (60.0, 35, "missed")]
)
def test_sixteen_cores_are_held_to_two(speech: float, listeners: int, bar: str) -> None:
    points: dict[tuple[int, int | None], Measured] = {
        (2, None): Measured(10.0, 6, 0.1),
        (16, None): Measured(speech, listeners, 0.1, 0.002),
    }
    rows = cores.make_report(points, {2: 12.0, 16: 78.0}, []).rows
    assert [row[-1] for row in rows] == ["", bar]
    assert [row[-2] for row in rows] == ["1.00", "6.50"]


@pytest.mark.parametrize(("two", "bar"), [(18.0, "met"), (17.9, "missed")])
def test_replicas_are_held_to_one(two: float, bar: str) -> None:
    speech = {1: Speech(10.0, 11.0), 2: Speech(two, 20.0)}
    rows = replicas.make_report(speech, cores_each=4, missing=[]).rows
    assert [row[-1] for row in rows] == ["", bar]
    assert [row[5] for row in rows] == ["1.00", "0.91"]


@pytest.mark.parametrize(("later", "share", "bars"), [(0.014, 0.91, ["met", "met"]), (0.02, 0.8, ["missed", "missed"])])
def test_ray_is_held_to_the_server_without_it(later: float, share: float, bars: list[str]) -> None:
    measured = {ray_cost.FIRST_BYTE: [(0.1, 0.1 + later)], ray_cost.SPEECH: [(10.0, 10.0 * share)]}
    assert [row[-1] for row in ray_cost.make_report(measured, 4).rows] == bars
