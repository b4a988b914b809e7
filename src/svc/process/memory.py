"""The memory of the process."""

import ctypes
import gc
import math
from pathlib import Path

from svc.process.control_groups import list_groups, read_words

_ARENA_MAX = -8  # glibc's M_ARENA_MAX
# After so many new objects the collector looks for cycles. A text makes thousands, nearly all of them without any: with
# Python's own 700, that would be several rounds for each.
_NEW_OBJECTS = 20_000


def limit_arenas(count: int) -> None:
    """Bounds how many arenas the C library makes for threads. By default they are eight for each core, and what was
    freed in one is of no use in another."""
    if adjust := getattr(ctypes.CDLL(None), "mallopt", None):  # glibc has it
        adjust(_ARENA_MAX, count)


def trim_malloc() -> None:
    """Returns freed memory to the system; the C library would keep most of it for ever."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc has it
        trim(0)


def freeze() -> None:
    """Takes everything that exists now out of the garbage collector's rounds, which would stop all else for as long
    as it takes to look at every entry of the lexicons."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


def measure_available(root: Path = Path("/")) -> float:
    """How many bytes the machine and the container have left; infinite if that is not known."""
    return min([_read_machine(root), *(_read_group(*group) for group in list_groups(root, "memory"))])


def _read_machine(root: Path) -> float:
    words = read_words(root / "proc/meminfo")
    return 1024.0 * int(words[words.index("MemAvailable:") + 1]) if "MemAvailable:" in words else math.inf


def _read_group(version: int, group: Path) -> float:
    """Version 2 says `max` where there is no limit, version 1 a huge number."""
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    limit, used = (read_words(group / name)[:1] for name in names)
    if not limit or not used or not limit[0].isdigit():
        return math.inf
    # Much of what a group uses is the page cache, which makes way.
    statistics = read_words(group / "memory.stat")
    kept = "inactive_file" if version == 2 else "total_inactive_file"
    cached = int(statistics[statistics.index(kept) + 1]) if kept in statistics else 0
    return int(limit[0]) - int(used[0]) + cached
