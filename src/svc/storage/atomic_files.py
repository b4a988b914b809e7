"""Atomic files: after a crash either the new content is there, or the old."""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY_SUFFIX = ".new"
"""Of a file that is being written. A crash can leave such files behind."""


class NotAFile(OSError):
    """A pipe, socket or folder has the name of a file. To open a pipe may wait for ever."""


def read(file: Path) -> bytes:
    """The content; raises `NotAFile` on anything else that has the name."""
    _require_file(file)
    return file.read_bytes()


def write(file: Path, content: bytes) -> None:
    """Writes to a temporary file and renames it; when this returns, the content is on disk."""
    temporary = file.with_name(file.name + TEMPORARY_SUFFIX)
    _require_file(temporary)
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


def discard(path: Path) -> None:
    """Deletes a file or folder that nothing needs. What cannot be deleted now does no harm."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def set_aside(file: Path) -> Path:
    """Renames what cannot be read, so that somebody may look at it, and returns the new name."""
    aside = file.with_name(f"{file.stem}.damaged-{secrets.token_hex(4)}{file.suffix}")
    file.rename(aside)
    sync(file.parent)
    return aside


def sync(folder: Path) -> None:
    """Puts the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """An exclusive lock between threads and processes; the system releases it when the process ends."""
    _require_file(file)
    with file.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def try_lock(file: Path) -> Iterator[bool]:
    """Yields whether the lock was free; if so, holds it until the block is left."""
    _require_file(file)
    with file.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _require_file(file: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(file.stat().st_mode):
            raise NotAFile(f"{file} is no file")
