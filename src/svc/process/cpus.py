"""How many CPUs this process may use: those of its affinity mask, within the limit of its container.

`os.cpu_count` is that of the machine. In a container with two CPUs of sixty-four, sixty-four threads would be stopped
for most of every tenth of a second.
"""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def count_cpus(root: Path = Path("/")) -> int:
    """At least 1. A fraction of a CPU counts as one; tests pass in another `root`."""
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min([available, *(math.ceil(limit) for limit in _read_limits(root))]))


def _read_limits(root: Path) -> Iterator[float]:
    """The limits, in CPUs, of the control groups that this process is in, and of those around them."""
    try:
        memberships = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for membership in memberships:
        number, _, rest = membership.partition(":")
        controllers, _, path = rest.partition(":")
        # Inside a container the path may be the one on its host, of which only the root exists here.
        groups = (PurePosixPath(path.lstrip("/")), *PurePosixPath(path.lstrip("/")).parents)
        mount = root / "sys/fs/cgroup"
        if number == "0":  # version 2
            yield from (limit for group in groups if (limit := _read_quota(mount / group / "cpu.max")))
        elif "cpu" in controllers.split(","):
            folders = [mount / name / group for name in ("cpu", controllers) for group in groups]
            yield from (limit for each in folders if (limit := _read_old_quota(each)))


def _read_quota(file: Path) -> float | None:
    """Version 2: `200000 100000` is two CPUs, `max 100000` is no limit."""
    return _divide(*_read_words(file)[:2])


def _read_old_quota(folder: Path) -> float | None:
    """Version 1: a quota of -1 is no limit."""
    return _divide(*_read_words(folder / "cpu.cfs_quota_us")[:1], *_read_words(folder / "cpu.cfs_period_us")[:1])


def _read_words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _divide(quota: str = "", period: str = "") -> float | None:
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return None
    return int(quota) / int(period) or None
