"""What the mirror has yet to hear of: a small file for each voice that changed, which outlives a crash."""

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from svc import atomic_files
from svc.voices.custom_voice import ID


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
