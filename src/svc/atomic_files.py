"""Atomic files: after a crash either the new content is there, or the old."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY_SUFFIX = ".new"
"""Of a file that is being written. A crash can leave such files behind."""


def write(file: Path, content: bytes) -> None:
    """Writes to a temporary file and renames it; when this returns, the content is on disk."""
    temporary = file.with_name(file.name + TEMPORARY_SUFFIX)
    with temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(file)
    sync(file.parent)


def remove(file: Path) -> None:
    """Removes the file if it exists; when this returns, the removal is on disk."""
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
def hold_lock(file: Path) -> Iterator[None]:
    """An exclusive lock between threads and processes; the system releases it when the process ends."""
    with file.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def try_lock(file: Path) -> Iterator[bool]:
    """Yields whether the lock was free; if so, holds it until the block is left."""
    with file.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
