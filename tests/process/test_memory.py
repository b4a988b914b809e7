"""The memory that is left: that of the machine, and of control groups of both versions."""

import math
from pathlib import Path

import pytest

from svc.process.memory import measure_available
from tests.process.test_cpus import write

MEMINFO = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:    5000000 kB\n"


def test_this_machine_has_some() -> None:
    assert 0 < measure_available() < math.inf


def test_what_is_not_known_is_no_limit(tmp_path: Path) -> None:
    assert measure_available(tmp_path) == math.inf


@pytest.mark.parametrize(
    ("limit", "left"), [("2000000000", 700_000_000), ("max", 5_120_000_000), ("9000000000000", 5_120_000_000)]
)
def test_the_limit_of_a_container(tmp_path: Path, limit: str, left: int) -> None:
    """What can be dropped from the page cache counts as free."""
    group = "sys/fs/cgroup/app"
    write(
        tmp_path,
        **{
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/app\n",
            f"{group}/memory.max": limit,
            f"{group}/memory.current": "1500000000",
            f"{group}/memory.stat": "anon 1000\ninactive_file 200000000\n",
        },
    )
    assert measure_available(tmp_path) == left


def test_older_control_groups(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/docker/abc"
    write(
        tmp_path,
        **{
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "5:memory:/docker/abc\n",
            f"{group}/memory.limit_in_bytes": "1000000000",
            f"{group}/memory.usage_in_bytes": "400000000",
        },
    )
    assert measure_available(tmp_path) == 600_000_000
