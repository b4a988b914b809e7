"""The number of CPUs: the affinity mask, and the limits of control groups of both versions."""

import os
from pathlib import Path

import pytest

from svc.engine.batcher import MOST_AT_ONCE
from svc.process.cpus import count_cpus
from svc.settings import Settings

MACHINE = 64


@pytest.fixture(autouse=True)
def _large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(MACHINE)), raising=False)
    monkeypatch.setattr("sys.platform", "linux")


def write(root: Path, **files: str) -> Path:
    for name, content in {"proc/self/cgroup": "0::/\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.mark.parametrize(
    ("quota", "cpus"),
    [
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("max 100000", MACHINE),
        ("9000000000 100000", MACHINE),
        ("", MACHINE),
        ("nonsense", MACHINE),
        ("0 0", MACHINE),
        ("-1 100000", MACHINE),
    ],
)
def test_limit_of_a_container(tmp_path: Path, quota: str, cpus: int) -> None:
    assert count_cpus(write(tmp_path, **{"sys/fs/cgroup/cpu.max": quota})) == cpus


def test_smallest_limit_on_the_way_to_the_root(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "proc/self/cgroup": "0::/kubepods/pod1/app\n",
            "sys/fs/cgroup/kubepods/pod1/cpu.max": "300000 100000",
            "sys/fs/cgroup/kubepods/pod1/app/cpu.max": "800000 100000",
        },
    )
    assert count_cpus(tmp_path) == 3


def test_path_of_the_host_that_the_container_does_not_see(tmp_path: Path) -> None:
    write(tmp_path, **{"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.max": "400000 100000"})
    assert count_cpus(tmp_path) == 4


@pytest.mark.parametrize(("quota", "cpus"), [("250000", 3), ("-1", MACHINE), ("", MACHINE)])
@pytest.mark.parametrize("folder", ["cpu/docker/abc", "cpu,cpuacct/docker/abc", "cpu"])
def test_older_control_groups(tmp_path: Path, folder: str, quota: str, cpus: int) -> None:
    write(
        tmp_path,
        **{
            "proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n",
            f"sys/fs/cgroup/{folder}/cpu.cfs_quota_us": quota,
            f"sys/fs/cgroup/{folder}/cpu.cfs_period_us": "100000",
        },
    )
    assert count_cpus(tmp_path) == cpus


def test_affinity_without_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_cpus(tmp_path) == MACHINE
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 7})
    assert count_cpus(tmp_path) == 3


def test_threads_follow_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert Settings().threads == 1


def test_a_gpu_has_as_many_workers_as_a_batch_has_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert Settings(engine="turbo", device="cuda").workers == MOST_AT_ONCE
    assert Settings(engine="turbo", device="cuda", workers=3).workers == 3


@pytest.mark.parametrize(
    ("cores", "engine_processes", "workers", "streams"), [(1, 1, 1, 32), (2, 1, 2, 32), (6, 1, 6, 96), (16, 4, 4, 256)]
)
def test_a_core_is_a_worker(
    cores: int, engine_processes: int, workers: int, streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    settings = Settings(engine="turbo")
    assert [settings.engine_processes, settings.workers, settings.threads] == [engine_processes, workers, 1]
    assert [settings.max_streams, settings.max_waiting] == [streams, 2 * streams]
