"""The memory of the process."""

import ctypes
import gc


def trim_malloc() -> None:
    """Hands memory that was freed back to the system; the C library would keep it for later, most of it for ever."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc has it
        trim(0)
