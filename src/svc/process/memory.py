"""The memory of the process."""

import ctypes
import gc

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
