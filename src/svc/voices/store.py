"""Where custom voices are kept: one folder each, that a crash leaves whole or not at all.

voices/
  custom-…/voice.json            the voice; it is there from the moment on when this file is
  custom-…/reference-….flac      the speech that it was made from
  removed/custom-…               a tombstone: the voice is gone from the moment on when this file is there
  outbox/custom-…                the mirror has not heard of the latest change yet
  refining/custom-…              how far the refinement of the voice is, if it is to be refined
"""

import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from svc import atomic_files
from svc.errors import StorageUnavailable, VoiceLimitReached, VoiceNotFound
from svc.voices.custom_voice import ID, CustomVoice, DamagedVoice, StoredReference


@dataclass(frozen=True, slots=True)
class Note:
    voice_id: str
    stamp: bytes
    """Tells this note from a later one about the same voice."""
    since: float
    """When it was written."""


class PendingUploads:
    """Says which voices changed, not how: what is true of a voice is what its store says at the time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, voice_id: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        atomic_files.write(self._folder / voice_id, secrets.token_bytes(8))

    def pending(self) -> list[Note]:
        """The notes, oldest first."""
        files = [file for file in self._folder.glob("custom-*") if ID.fullmatch(file.name)]
        notes = [Note(file.name, file.read_bytes(), file.stat().st_mtime) for file in files]
        return sorted(notes, key=lambda note: note.since)

    def done(self, note: Note) -> None:
        """Drops the note, unless the voice has changed again meanwhile."""
        file = self._folder / note.voice_id
        if file.exists() and file.read_bytes() == note.stamp:
            atomic_files.remove(file)

    def lag(self) -> float:
        """For how many seconds the oldest change has been waiting."""
        return max((time.time() - note.since for note in self.pending()), default=0.0)


log = logging.getLogger(__name__)

_VOICE = "voice.json"


class VoiceStore:
    """Safe to use from any number of threads and processes. A disk that does not take it is `StorageUnavailable`."""

    def __init__(self, folder: Path, pending_uploads: PendingUploads | None = None) -> None:
        self._folder = folder
        self._removed = folder / "removed"
        self._lock = folder / ".lock"
        self._pending_uploads = pending_uploads

    def tidy(self) -> None:
        """Finishes what a crash interrupted."""
        if not self._folder.exists():
            return
        with self._writing():
            for file in self._removed.glob(f"*{atomic_files.BESIDE}"):
                file.unlink()
            for folder in self._folders():
                if self.is_removed(folder.name) or not (folder / _VOICE).exists():
                    shutil.rmtree(folder)
                else:
                    self._drop_leftovers(folder)

    def generation(self) -> int:
        """Another number after every change: a cheap way to see whether there is anything to look for."""
        try:
            return self._lock.stat().st_mtime_ns
        except OSError:
            return 0

    def signatures(self) -> dict[str, tuple[int, int]]:
        """The ids of the voices that are there, each with something that changes whenever the voice does."""
        found = {}
        for folder in self._folders():
            try:
                state = (folder / _VOICE).stat()
            except OSError:  # being written or removed just now
                continue
            if not self.is_removed(folder.name):
                found[folder.name] = (state.st_mtime_ns, state.st_ino)
        return found

    def read(self, voice_id: str) -> CustomVoice:
        """Raises `VoiceNotFound`, or `DamagedVoice` with the reason."""
        if not ID.fullmatch(voice_id) or self.is_removed(voice_id):
            raise VoiceNotFound(voice_id)
        try:
            voice = CustomVoice.from_bytes((self._folder / voice_id / _VOICE).read_bytes())
        except FileNotFoundError:
            raise VoiceNotFound(voice_id) from None
        except OSError as error:
            raise DamagedVoice(f"it cannot be read: {error}") from error
        if voice.voice_id != voice_id:
            raise DamagedVoice(f"it is {voice.voice_id}")
        return voice

    def reference(self, voice: CustomVoice) -> bytes | None:
        """The speech that the voice was made from, as FLAC, if it was kept; raises `DamagedVoice`."""
        if voice.reference is None:
            return None
        try:
            content = (self._folder / voice.voice_id / voice.reference.name).read_bytes()
        except OSError as error:
            raise DamagedVoice(f"its reference cannot be read: {error}") from error
        if StoredReference.of(content) != voice.reference:
            raise DamagedVoice("its reference does not match its checksum")
        return content

    def is_removed(self, voice_id: str) -> bool:
        """Whether there was such a voice and it was removed. An id never comes back."""
        return (self._removed / voice_id).exists()

    def add(
        self, voice: CustomVoice, reference: bytes | None, *, limit: int | None = None, announce: bool = True
    ) -> None:
        """Keeps a new voice; `announce` tells the mirror."""
        with self._writing():
            if self.is_removed(voice.voice_id):
                raise VoiceNotFound(voice.voice_id)
            if limit is not None and len(self.signatures()) >= limit:
                raise VoiceLimitReached(limit)
            self._write(voice, reference)

    def change(
        self, voice_id: str, changed: Callable[[CustomVoice], CustomVoice], reference: bytes | None = None
    ) -> CustomVoice:
        """Replaces a voice by what `changed` makes of it; without a new reference, it keeps the one it has."""
        with self._writing():
            voice = changed(self.read(voice_id))
            self._write(voice, reference)
            return voice

    def take_over(self, voice: CustomVoice, reference: bytes | None) -> None:
        """Keeps what the mirror has, unless it is here in a later version; raises `VoiceNotFound` if it was removed."""
        with self._writing():
            if self.is_removed(voice.voice_id):
                raise VoiceNotFound(voice.voice_id)
            try:
                known = self.read(voice.voice_id)
            except (VoiceNotFound, DamagedVoice):
                known = None
            if known is None or known.version < voice.version:
                self._write(voice, reference, announce=False)

    def remove(self, voice_id: str) -> None:
        """Removes a voice for good, also a damaged one."""
        with self._writing():
            folder = self._folder / voice_id
            if not ID.fullmatch(voice_id) or self.is_removed(voice_id) or not folder.is_dir():
                raise VoiceNotFound(voice_id)
            self._announce(voice_id)
            self._bury(voice_id)

    def bury(self, voice_id: str) -> None:
        """Takes over from the mirror that a voice was removed, whether or not it ever was here."""
        with self._writing():
            self._bury(voice_id)

    def _bury(self, voice_id: str) -> None:
        atomic_files.write(self._removed / voice_id, b"")
        shutil.rmtree(self._folder / voice_id, ignore_errors=True)  # the tombstone counts; `tidy` finishes the rest
        atomic_files.sync(self._folder)

    def _write(self, voice: CustomVoice, reference: bytes | None, *, announce: bool = True) -> None:
        folder = self._folder / voice.voice_id
        is_new = not (folder / _VOICE).exists()
        try:
            if announce:
                self._announce(voice.voice_id)
            folder.mkdir(exist_ok=True)
            atomic_files.sync(self._folder)
            if reference is not None:
                assert voice.reference is not None
                atomic_files.write(folder / voice.reference.name, reference)
            atomic_files.write(folder / _VOICE, voice.to_bytes())
        except OSError:
            if is_new:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        self._drop_leftovers(folder, voice)

    def _drop_leftovers(self, folder: Path, voice: CustomVoice | None = None) -> None:
        """Deletes what an interrupted change, or the reference before the present one, left behind."""
        try:
            voice = voice or self.read(folder.name)
        except DamagedVoice:  # whatever is left may help to repair it
            return
        kept = {_VOICE, voice.reference.name if voice.reference else _VOICE}
        for file in folder.iterdir():
            if file.name not in kept:
                file.unlink()

    def _announce(self, voice_id: str) -> None:
        """Notes the change for the mirror before it is made: a crash in between costs a look, not a change."""
        if self._pending_uploads is not None:
            self._pending_uploads.note(voice_id)

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(each for each in self._folder.iterdir() if ID.fullmatch(each.name) and each.is_dir())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time."""
        try:
            for folder in (self._folder, self._removed):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_files.locked(self._lock):
                try:
                    yield
                finally:  # to the nanosecond, where the clock of the file system may tick too slowly
                    os.utime(self._lock, ns=(time.time_ns(), time.time_ns()))
        except OSError as error:
            log.error("voices cannot be kept in %s: %s", self._folder, error)
            raise StorageUnavailable(str(error)) from error
