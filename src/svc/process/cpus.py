"""How many CPUs this process may use: those of its affinity mask, within the limit of its container.

`os.cpu_count` is that of the machine. In a container with two CPUs of sixty-four, sixty-four threads would be stopped
for most of every tenth of a second.
"""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from svc.process.control_groups import list_groups, read_words


def count_cpus(root: Path = Path("/")) -> int:
    """At least 1. A fraction of a CPU counts as one; tests pass in another `root`."""
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min([available, *(math.ceil(limit) for limit in _read_limits(root))]))


def _read_limits(root: Path) -> Iterator[float]:
    """In CPUs."""
    for version, group in list_groups(root, "cpu"):
        if limit := _read_quota(group / "cpu.max") if version == 2 else _read_old_quota(group):
            yield limit


def _read_quota(file: Path) -> float | None:
    """Version 2: `200000 100000` is two CPUs, `max 100000` is no limit."""
    return _divide(*read_words(file)[:2])


def _read_old_quota(folder: Path) -> float | None:
    """Version 1: a quota of -1 is no limit."""
    return _divide(*read_words(folder / "cpu.cfs_quota_us")[:1], *read_words(folder / "cpu.cfs_period_us")[:1])


def _divide(quota: str = "", period: str = "") -> float | None:
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return None
    return int(quota) / int(period) or None
