"""The memory of the process."""

import ctypes
import gc


def trim_malloc() -> None:
    """Returns freed memory to the system; the C library would keep most of it for ever."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc has it
        trim(0)
