"""Which systems svc runs on, and what is missing on some of them."""

import ctypes
import os
import sys


def require_posix(platform: str = sys.platform) -> None:
    """Ends the process on Windows, in one line: file locks, signals and much else are those of POSIX."""
    if platform == "win32":
        sys.exit("svc runs on Linux and macOS. On Windows, run it in WSL 2 or as a container.")


def list_missing() -> list[str]:
    """What this system lacks, and what follows from that."""
    missing = {
        "priorities of threads (cloning slows speech down)": sys.platform == "linux",
        "CPU affinity and container limits (set SVC_THREADS if the process may not use all cores)": hasattr(
            os, "sched_getaffinity"
        ),
        "malloc_trim (freed memory is kept)": hasattr(ctypes.CDLL(None), "malloc_trim"),
    }
    return [what for what, is_there in missing.items() if not is_there]
