"""Dictionaries on disk: one folder for each, written so that a crash leaves the old state or the new one.

dictionaries/
  5xM3…/version-….json      the rules of one version; never changed
  5xM3…/state-….json        the dictionary; it exists as soon as this file does, and the greatest name is the latest
  removed/5xM3…             a tombstone: the dictionary is removed as soon as this file exists
"""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from svc.dictionaries.dictionary import ID, STATE_FILE, VERSION_FILE, DamagedFile, Dictionary, Version, check_file
from svc.errors import DictionaryNotFound, StorageUnavailable
from svc.storage import atomic_files

log = logging.getLogger(__name__)

# Of one dictionary, beside the latest version. Older versions are removed.
MAX_VERSIONS = 100
MAX_VERSION_BYTES = 20_000_000
_AGES_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of one dictionary, with their sizes."""

    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def state(self) -> str | None:
        """The file of its latest state."""
        return max(self.states, default=None)

    @property
    def states(self) -> set[str]:
        return {name for name in self.sizes if STATE_FILE.fullmatch(name)}

    @property
    def versions(self) -> set[str]:
        return {name for name in self.sizes if VERSION_FILE.fullmatch(name)}


class DictionaryStore:
    """Safe to use from several threads and processes. A disk that fails raises `StorageUnavailable`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._removed = folder / "removed"
        self._lock = folder / ".lock"
        self._damaged: set[tuple[str, str]] = set()
        self._read_created_at = lru_cache(_AGES_KEPT)(self._find_created_at)

    def tidy(self) -> None:
        """Finishes what a crash interrupted."""
        if not self._folder.exists():
            return
        with self._locked():
            for file in self._removed.glob(f"*{atomic_files.TEMPORARY_SUFFIX}"):
                atomic_files.discard(file)
            for folder in self._folders():
                for file in folder.glob(f"*{atomic_files.TEMPORARY_SUFFIX}"):
                    atomic_files.discard(file)
                if self.is_removed(folder.name) or not any(folder.glob("state-*.json")):
                    atomic_files.discard(folder)

    def generation(self) -> int:
        """Another number after every change: a cheap way to see whether anything changed."""
        try:
            return self._lock.stat().st_mtime_ns
        except OSError:
            return 0

    def list_files(self) -> dict[str, StoredFiles]:
        """The files of every dictionary, without those that are known to be damaged."""
        found = {}
        for folder in self._folders():
            if not self.is_removed(folder.name):
                with suppress(FileNotFoundError):  # removed at this moment
                    sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
                    found[folder.name] = StoredFiles(
                        {name: size for name, size in sizes.items() if (folder.name, name) not in self._damaged}
                    )
        return found

    def read(self, dictionary_id: str) -> Dictionary:
        """Raises `DictionaryNotFound`, or `DamagedFile` with the reason."""
        state = self._list(dictionary_id).state
        if state is None:
            raise DictionaryNotFound(dictionary_id)
        return Dictionary.from_bytes(self.read_file(dictionary_id, state))

    def read_version(self, dictionary_id: str, version_id: str) -> Version:
        """Raises `DictionaryNotFound`, or `DamagedFile` with the reason."""
        name = f"version-{version_id}.json"
        if not VERSION_FILE.fullmatch(name) or name not in self._list(dictionary_id).versions:
            raise DictionaryNotFound(f"{dictionary_id}/{version_id}")
        return Version.from_bytes(self.read_file(dictionary_id, name))

    def read_file(self, dictionary_id: str, name: str) -> bytes:
        """A file that was checked; raises `DamagedFile` with the reason."""
        try:
            content = atomic_files.read(self._folder / dictionary_id / name)
            check_file(dictionary_id, name, content)
        except (OSError, DamagedFile) as problem:
            if not isinstance(problem, FileNotFoundError):  # then it was removed at this moment
                self._damaged.add((dictionary_id, name))
            raise DamagedFile(str(problem)) from problem
        return content

    def _find_created_at(self, dictionary_id: str, name: str) -> int:
        """When a version was made; a damaged one counts as the oldest."""
        try:
            return Version.from_bytes(self.read_file(dictionary_id, name)).created_at
        except DamagedFile:
            return 0

    def is_removed(self, dictionary_id: str) -> bool:
        """Whether a dictionary with this id was removed. Ids are not used again."""
        return (self._removed / dictionary_id).exists()

    def list_removed(self) -> set[str]:
        if not self._removed.is_dir():
            return set()
        return {each.name for each in self._removed.iterdir() if ID.fullmatch(each.name)}

    def add(self, dictionary: Dictionary, version: Version, require_room: Callable[[], None]) -> None:
        """`require_room` may raise, while nobody else adds a dictionary."""
        with self._locked():
            require_room()
            folder = self._folder / dictionary.dictionary_id
            try:
                self._write(version.dictionary_id, version.file_name, version.to_bytes())
                self._write(dictionary.dictionary_id, dictionary.file_name, dictionary.to_bytes())
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def change(
        self, dictionary_id: str, revise: Callable[[Dictionary], tuple[Dictionary, Version | None]]
    ) -> Dictionary:
        """Replaces a dictionary by what `revise` returns; with a version, that one is the latest from now on."""
        with self._locked():
            dictionary, version = revise(self.read(dictionary_id))
            if version is not None:
                self._write(dictionary_id, version.file_name, version.to_bytes())
            self._write(dictionary_id, dictionary.file_name, dictionary.to_bytes())
            if version is not None:
                self._prune(dictionary_id)
            return dictionary

    def prune(self, dictionary_id: str) -> set[str]:
        """Removes the versions that are too many, and returns the names of their files: on every server the same."""
        if not _are_too_many(self._weigh_earlier_versions(dictionary_id)):
            return set()
        with self._locked():
            return self._prune(dictionary_id)

    def _weigh_earlier_versions(self, dictionary_id: str) -> dict[str, int]:
        latest = f"version-{self.read(dictionary_id).version_id}.json"
        folder = self._folder / dictionary_id
        return {name: (folder / name).stat().st_size for name in self._list(dictionary_id).versions - {latest}}

    def _prune(self, dictionary_id: str) -> set[str]:
        folder, sizes = self._folder / dictionary_id, self._weigh_earlier_versions(dictionary_id)
        pruned, total = set[str](), 0
        if not _are_too_many(sizes):
            return pruned
        oldest_last = sorted(sizes, key=lambda name: (self._read_created_at(dictionary_id, name), name), reverse=True)
        for kept, name in enumerate(oldest_last):
            total += sizes[name]
            if kept >= MAX_VERSIONS or total > MAX_VERSION_BYTES:
                (folder / name).unlink()
                pruned.add(name)
        return pruned

    def save_fetched(self, dictionary_id: str, name: str, content: bytes) -> None:
        """Writes a file from the object store; raises `DamagedFile`, or `DictionaryNotFound` if it was removed."""
        check_file(dictionary_id, name, content)
        with self._locked():
            if self.is_removed(dictionary_id):
                raise DictionaryNotFound(dictionary_id)
            self._write(dictionary_id, name, content)
            self._damaged.discard((dictionary_id, name))

    def remove(self, dictionary_id: str) -> None:
        """Removes a dictionary with all of its versions for good, also a damaged one."""
        with self._locked():
            if not ID.fullmatch(dictionary_id) or not (self._folder / dictionary_id).is_dir():
                raise DictionaryNotFound(dictionary_id)
            self._mark_removed(dictionary_id)

    def apply_fetched_removal(self, dictionary_id: str) -> None:
        """Removes a dictionary that was removed on another server, whether or not it exists here."""
        with self._locked():
            self._mark_removed(dictionary_id)

    def find_age(self, dictionary_id: str, name: str) -> float:
        """When a file was written, in Unix seconds; now if it is gone."""
        try:
            return (self._folder / dictionary_id / name).stat().st_mtime
        except OSError:
            return time.time()

    def _mark_removed(self, dictionary_id: str) -> None:
        atomic_files.write(self._removed / dictionary_id, b"")
        shutil.rmtree(self._folder / dictionary_id, ignore_errors=True)  # the tombstone counts; `tidy` does the rest
        atomic_files.sync(self._folder)

    def _write(self, dictionary_id: str, name: str, content: bytes) -> None:
        folder = self._folder / dictionary_id
        folder.mkdir(exist_ok=True)
        atomic_files.sync(self._folder)
        atomic_files.write(folder / name, content)
        latest = self._list(dictionary_id).state or ""
        for each in self._list(dictionary_id).states:
            if each < latest:
                with suppress(OSError):  # the change is made: an old state does no harm
                    (folder / each).unlink()

    def _list(self, dictionary_id: str) -> StoredFiles:
        if not ID.fullmatch(dictionary_id) or self.is_removed(dictionary_id):
            return StoredFiles()
        try:
            return StoredFiles({each.name: 0 for each in (self._folder / dictionary_id).iterdir()})
        except FileNotFoundError:
            return StoredFiles()

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(each for each in self._folder.iterdir() if ID.fullmatch(each.name) and each.is_dir())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time."""
        try:
            for folder in (self._folder, self._removed):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_files.hold_lock(self._lock):
                try:
                    yield
                finally:  # explicit nanoseconds: the file system's own clock may be coarser than two changes
                    os.utime(self._lock, ns=(time.time_ns(), time.time_ns()))
        except OSError as error:
            log.error("dictionaries cannot be stored in %s: %s", self._folder, error)
            raise StorageUnavailable(str(error)) from error


def _are_too_many(sizes: Mapping[str, int]) -> bool:
    return len(sizes) > MAX_VERSIONS or sum(sizes.values()) > MAX_VERSION_BYTES
