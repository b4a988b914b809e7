"""Custom voices on disk: one folder for each, written so that a crash leaves the old state or the new one.

voices/
  custom-…/voice.json            the voice; it exists as soon as this file does
  custom-…/reference-….flac      the speech that it was made from
  removed/custom-…               a tombstone: the voice is removed as soon as this file exists
  outbox/custom-…                a pending upload: the object store does not have the latest change yet
  refining/custom-…              the voice is in the refinement queue
"""

import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from svc.errors import StorageUnavailable, VoiceLimitReached, VoiceNotFound
from svc.storage import atomic_files
from svc.voices.custom_voice import ID, CustomVoice, DamagedVoice, StoredReference

log = logging.getLogger(__name__)

_VOICE = "voice.json"


@dataclass(frozen=True, slots=True)
class PendingUpload:
    voice_id: str
    stamp: bytes
    """Differs from that of a later change of the same voice."""
    since: float
    """When the change was recorded."""


class PendingUploads:
    """The voices whose latest change the object store does not have yet: one small file each, which survives a crash.

    It records which voices changed, not how: what is uploaded is the state that the store has at that time. Records
    are written and deleted under the lock of the store: of two at once, one would be lost.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, voice_id: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        atomic_files.write(self._folder / voice_id, secrets.token_bytes(8))

    def contains(self, voice_id: str) -> bool:
        return (self._folder / voice_id).exists()

    def read_all(self) -> list[PendingUpload]:
        """Oldest first."""
        uploads = []
        for file in self._folder.glob("custom-*"):
            if ID.fullmatch(file.name):
                try:
                    uploads.append(PendingUpload(file.name, atomic_files.read(file), file.stat().st_mtime))
                except FileNotFoundError:  # completed at this moment
                    continue
                except atomic_files.NotAFile as problem:  # the next fetch finds what the object store lacks
                    log.error("a pending upload is kept as %s: %s", atomic_files.set_aside(file), problem)
        return sorted(uploads, key=lambda upload: upload.since)

    def complete(self, upload: PendingUpload) -> None:
        """Deletes the record, unless the voice has changed again since."""
        file = self._folder / upload.voice_id
        with suppress(FileNotFoundError, atomic_files.NotAFile):
            if atomic_files.read(file) == upload.stamp:
                atomic_files.remove(file)


class VoiceStore:
    """Safe to use from several threads and processes. A disk that fails raises `StorageUnavailable`."""

    def __init__(self, folder: Path, *, track_uploads: bool = False) -> None:
        """`track_uploads` records every change in `pending_uploads`, for `svc.voices.sync`."""
        self._folder = folder
        self._removed = folder / "removed"
        self._lock = folder / ".lock"
        self.pending_uploads = PendingUploads(folder / "outbox") if track_uploads else None

    def tidy(self) -> None:
        """Finishes what a crash interrupted."""
        if not self._folder.exists():
            return
        with self._locked():
            for file in self._removed.glob(f"*{atomic_files.TEMPORARY_SUFFIX}"):
                atomic_files.discard(file)
            for folder in self._folders():
                if self.is_removed(folder.name) or not (folder / _VOICE).exists():
                    atomic_files.discard(folder)
                else:
                    self._delete_leftovers(folder)

    def generation(self) -> int:
        """Another number after every change: a cheap way to see whether anything changed."""
        try:
            return self._lock.stat().st_mtime_ns
        except OSError:
            return 0

    def signatures(self) -> dict[str, tuple[int, int]]:
        """The ids of all voices, each with a value that changes whenever the voice does."""
        found = {}
        for folder in self._folders():
            try:
                state = (folder / _VOICE).stat()
            except OSError:  # being written or removed at this moment
                continue
            if not self.is_removed(folder.name):
                found[folder.name] = (state.st_mtime_ns, state.st_ino)
        return found

    def read(self, voice_id: str) -> CustomVoice:
        """Raises `VoiceNotFound`, or `DamagedVoice` with the reason."""
        if not ID.fullmatch(voice_id) or self.is_removed(voice_id):
            raise VoiceNotFound(voice_id)
        try:
            voice = CustomVoice.from_bytes(atomic_files.read(self._folder / voice_id / _VOICE))
        except FileNotFoundError:
            raise VoiceNotFound(voice_id) from None
        except OSError as error:
            raise DamagedVoice(f"it cannot be read: {error}") from error
        if voice.voice_id != voice_id:
            raise DamagedVoice(f"it is {voice.voice_id}")
        return voice

    def read_reference(self, voice: CustomVoice) -> bytes | None:
        """The speech that the voice was made from, as FLAC, or None if it was not kept; raises `DamagedVoice`."""
        if voice.reference is None:
            return None
        try:
            content = atomic_files.read(self._folder / voice.voice_id / voice.reference.name)
        except OSError as error:
            raise DamagedVoice(f"its reference cannot be read: {error}") from error
        if StoredReference.of(content) != voice.reference:
            raise DamagedVoice("its reference does not match its checksum")
        return content

    def read_whole(self, voice_id: str) -> tuple[CustomVoice, bytes | None]:
        """A voice and its reference, of the same version even if it is being changed."""
        voice = self.read(voice_id)
        while True:
            try:
                return voice, self.read_reference(voice)
            except DamagedVoice:
                before, voice = voice, self.read(voice_id)
                if voice.reference == before.reference:
                    raise

    def is_removed(self, voice_id: str) -> bool:
        """Whether a voice with this id was removed. Ids are not used again."""
        return (self._removed / voice_id).exists()

    def add(
        self,
        voice: CustomVoice,
        reference: bytes | None,
        *,
        limit: int | None = None,
        require_room: Callable[[], None] = lambda: None,
    ) -> None:
        """`require_room` may raise, while nobody else adds a voice."""
        with self._locked():
            if self.is_removed(voice.voice_id):
                raise VoiceNotFound(voice.voice_id)
            require_room()
            if limit is not None and len(self.signatures()) >= limit:
                raise VoiceLimitReached(limit)
            self._write(voice, reference)

    def change(
        self, voice_id: str, revise: Callable[[CustomVoice], CustomVoice], reference: bytes | None = None
    ) -> CustomVoice:
        """Replaces a voice by what `revise` returns; without a new reference, it keeps the one it has."""
        with self._locked():
            voice = revise(self.read(voice_id))
            self._write(voice, reference)
            return voice

    def save_fetched(self, voice: CustomVoice, reference: bytes | None) -> None:
        """Writes a version from the object store, unless the local one is later; raises `VoiceNotFound` if removed."""
        with self._locked():
            if self.is_removed(voice.voice_id):
                raise VoiceNotFound(voice.voice_id)
            try:
                known = self.read(voice.voice_id)
            except (VoiceNotFound, DamagedVoice):
                known = None
            if known is None or known.version < voice.version:
                self._write(voice, reference, upload=False)

    def queue_upload(self, voice_id: str) -> None:
        """Records that the object store needs the present state of a voice, unless that is recorded already."""
        with self._locked(changes=False):
            if self.pending_uploads is not None and not self.pending_uploads.contains(voice_id):
                self.pending_uploads.add(voice_id)

    def complete_upload(self, upload: PendingUpload) -> None:
        with self._locked(changes=False):
            if self.pending_uploads is not None:
                self.pending_uploads.complete(upload)

    def remove(self, voice_id: str) -> None:
        """Removes a voice for good, also a damaged one."""
        with self._locked():
            folder = self._folder / voice_id
            if not ID.fullmatch(voice_id) or self.is_removed(voice_id) or not folder.is_dir():
                raise VoiceNotFound(voice_id)
            self._track_upload(voice_id)
            self._mark_removed(voice_id)

    def apply_fetched_removal(self, voice_id: str) -> None:
        """Removes a voice that was removed on another server, whether or not it exists here."""
        with self._locked():
            self._mark_removed(voice_id)

    def _mark_removed(self, voice_id: str) -> None:
        atomic_files.write(self._removed / voice_id, b"")
        shutil.rmtree(self._folder / voice_id, ignore_errors=True)  # the tombstone counts; `tidy` deletes the rest
        atomic_files.sync(self._folder)

    def _write(self, voice: CustomVoice, reference: bytes | None, *, upload: bool = True) -> None:
        folder = self._folder / voice.voice_id
        is_new = not (folder / _VOICE).exists()
        try:
            if upload:
                self._track_upload(voice.voice_id)
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
        with suppress(OSError):  # the change is made: what cannot be deleted now, `tidy` deletes
            self._delete_leftovers(folder, voice)

    def _delete_leftovers(self, folder: Path, voice: CustomVoice | None = None) -> None:
        """Deletes the files of an interrupted change, and the reference before the present one."""
        try:
            voice = voice or self.read(folder.name)
        except DamagedVoice:  # keep all files: they may help to repair it
            return
        kept = {_VOICE, voice.reference.name if voice.reference else _VOICE}
        for file in folder.iterdir():
            if file.name not in kept:
                atomic_files.discard(file)

    def _track_upload(self, voice_id: str) -> None:
        """Before the change: a crash in between costs a needless upload, not a missing one."""
        if self.pending_uploads is not None:
            self.pending_uploads.add(voice_id)

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(each for each in self._folder.iterdir() if ID.fullmatch(each.name) and each.is_dir())

    @contextmanager
    def _locked(self, *, changes: bool = True) -> Iterator[None]:
        """One writer at a time; `changes` tells whether a voice may be changed."""
        try:
            for folder in (self._folder, self._removed):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_files.hold_lock(self._lock):
                try:
                    yield
                finally:
                    if changes:  # explicit nanoseconds: the file system's own clock may be coarser than two changes
                        os.utime(self._lock, ns=(time.time_ns(), time.time_ns()))
        except OSError as error:
            log.error("voices cannot be stored in %s: %s", self._folder, error)
            raise StorageUnavailable(str(error)) from error
