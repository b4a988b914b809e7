"""Files that are whole after a crash: either what was written is there, or what was there before."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BESIDE = ".new"
"""Ends the name of a file that is being written. After a crash such files may be left over."""


def write(file: Path, content: bytes) -> None:
    """Writes beside the place first, then moves there; when this returns, it is on the disk."""
    beside = file.with_name(file.name + BESIDE)
    with beside.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(file)
    sync(file.parent)


def remove(file: Path) -> None:
    """Removes the file, if it is there; when this returns, it is gone from the disk."""
    file.unlink(missing_ok=True)
    sync(file.parent)


def sync(folder: Path) -> None:
    """Makes the names in a folder atomic_files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keeps out every other thread and process that locks the same file; ends with the process, however that ends."""
    with file.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def claimed(file: Path) -> Iterator[bool]:
    """Whether the file could be locked: not while another process has it. What is locked stays so until the end."""
    with file.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
