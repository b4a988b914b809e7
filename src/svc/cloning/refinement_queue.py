"""The voices that are to be refined, and how far each of them is."""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Self

from svc.cloning.gradients import RUNS
from svc.errors import NoReference, StorageUnavailable
from svc.storage import atomic_files
from svc.voices.custom_voice import ID, CustomVoice

log = logging.getLogger(__name__)

STEPS = 1 + 1 + RUNS + 1 + 4
"""Encoding the recording, matching the equalizer gains, the descent, matching them again, and two sentences with each
of the two versions."""


@dataclass(frozen=True, slots=True)
class Refinement:
    voice_id: str
    parameters_hash: str
    """Of the voice that is to be refined. If the voice has other parameters by now, the refinement is obsolete."""
    steps_done: int = 0

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return round(self.steps_done / STEPS, 3)

    def to_bytes(self) -> bytes:
        return json.dumps({"sound": self.parameters_hash, "steps_done": self.steps_done}).encode()

    @classmethod
    def from_bytes(cls, voice_id: str, content: bytes) -> Self:
        """Raises `ValueError` on anything but a stored refinement; one of an older release has not begun."""
        try:
            stored = json.loads(content)
            refinement = cls(voice_id, str(stored["sound"]), int(stored.get("steps_done", 0)))
        except Exception as problem:  # whatever it is: one file must not keep the other voices from being refined
            raise ValueError(f"it cannot be read: {problem}") from problem
        if not 0 <= refinement.steps_done <= STEPS:
            raise ValueError(f"it has {refinement.steps_done} steps of {STEPS}")
        return refinement


class RefinementQueue:
    """The voices to refine: one small file each, which survives a restart. What they say is kept in memory.

    The queue belongs to one server, or to several that share the folder. It is not synced to the object store: the
    server that got the request does the work.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, _Queued] = {}
        self._refreshing = Lock()
        with suppress(OSError):  # the worker tries again, and tells
            self.refresh()

    @property
    def worker_lock(self) -> Path:
        """Held by the server that refines."""
        return self._folder / ".lock"

    def refresh(self) -> None:
        """Reads the files that changed: other processes queue voices, too."""
        with self._refreshing:  # of two at once, the one that saw less might come last
            found = {}
            with suppress(FileNotFoundError):  # nothing was queued yet
                for file in self._folder.iterdir():
                    if ID.fullmatch(file.name):
                        with suppress(FileNotFoundError):  # removed at this moment
                            found[file.name] = _read_queued(file, self._known.get(file.name))
            self._known = found

    def progress(self, voice: CustomVoice) -> float | None:
        """From 0 to 1, or None if the voice is not queued. Reads no file: lists of voices show it for each of them."""
        known = self.find(voice.voice_id)
        return known.progress if known and known.parameters_hash == voice.parameters_hash else None

    def find(self, voice_id: str) -> Refinement | None:
        """None also if the file is damaged."""
        known = self._known.get(voice_id)
        return known.refinement if known else None

    def waiting(self) -> list[str]:
        """The ids of the queued voices: those that were begun first, then those that have waited longest."""
        self.refresh()
        return sorted(self._known, key=lambda voice_id: self._known[voice_id].order)

    def add(self, voice: CustomVoice) -> None:
        """Queues a voice; one that is being refined already continues."""
        if voice.reference is None:
            raise NoReference
        with self._locked():
            known = self.find(voice.voice_id)
            if known is None or known.parameters_hash != voice.parameters_hash:
                self._write(Refinement(voice.voice_id, voice.parameters_hash))

    def add_earlier(self, voices: Iterable[CustomVoice]) -> None:
        """Queues voices that were made before refinement was on by default: once in the life of the folder."""
        marker = self._folder / ".earlier"
        if marker.exists():
            return
        for voice in voices:
            self.add(voice)
        with self._locked():
            atomic_files.write(marker, b"")

    def update(self, refinement: Refinement) -> bool:
        """Stores the progress; false if the refinement was removed or replaced in the meantime."""
        with self._locked():
            known = self.find(refinement.voice_id)
            if known is None or known.parameters_hash != refinement.parameters_hash:
                return False
            self._write(refinement)
            return True

    def remove(self, voice_id: str, parameters_hash: str | None = None) -> None:
        """Removes the refinement of a voice, if there is one; with a hash, only if it is for these parameters."""
        if not self._folder.exists():
            return
        with self._locked():
            known = self.find(voice_id)
            if parameters_hash is None or known is None or known.parameters_hash == parameters_hash:
                (self._folder / voice_id).unlink(missing_ok=True)
                self.refresh()

    def _set_damaged_aside(self) -> None:
        for voice_id, known in self._known.items():
            if known.refinement is None:
                aside = atomic_files.set_aside(self._folder / voice_id)
                log.error("the refinement of %s is damaged and kept as %s: %s", voice_id, aside, known.problem)
        self._known = {voice_id: known for voice_id, known in self._known.items() if known.refinement}

    def _write(self, refinement: Refinement) -> None:
        atomic_files.write(self._folder / refinement.voice_id, refinement.to_bytes())
        self.refresh()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One change at a time, and each of what is on disk: an update must not bring back what was removed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_files.hold_lock(self._folder / ".changes"):
                self.refresh()
                self._set_damaged_aside()
                yield
        except OSError as error:
            raise StorageUnavailable(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Queued:
    """A file of the queue."""

    signature: tuple[int, int]
    """Changes with the content."""
    refinement: Refinement | None
    """None if the file is damaged."""
    problem: str = ""

    @property
    def order(self) -> tuple[int, int]:
        return -self.refinement.steps_done if self.refinement else 0, self.signature[0]


def _read_queued(file: Path, known: _Queued | None) -> _Queued:
    state = file.stat()
    signature = state.st_mtime_ns, state.st_ino
    if known and known.signature == signature:
        return known
    try:
        return _Queued(signature, Refinement.from_bytes(file.name, atomic_files.read(file)))
    except (ValueError, atomic_files.NotAFile) as problem:
        return _Queued(signature, None, str(problem))
