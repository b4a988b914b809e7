"""Which voices are to be refined, and how far each has come: a small file each, which outlives a crash."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from svc import atomic_files
from svc.cloning.search import Search
from svc.errors import NoReference, StorageUnavailable
from svc.voices.custom_voice import ID, CustomVoice


@dataclass(frozen=True, eq=False, slots=True)
class Refinement:
    voice_id: str
    sound: str
    """Of the voice that is to be refined. Once it is made anew, here or elsewhere, this is of a voice of the past."""
    search: Search

    def to_bytes(self) -> bytes:
        return json.dumps({"sound": self.sound, "search": self.search.to_json()}).encode()

    @classmethod
    def from_bytes(cls, voice_id: str, content: bytes) -> Self:
        """Raises `ValueError` on anything but what `to_bytes` wrote."""
        stored = json.loads(content)
        try:
            return cls(voice_id, str(stored["sound"]), Search.from_json(stored["search"]))
        except (KeyError, TypeError) as problem:
            raise ValueError(f"it is incomplete: {problem}") from problem


class RefinementQueue:
    """Those of one server, or of several that share the folder. They are not mirrored: who was asked does the work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def lock(self) -> Path:
        """Whoever has it refines."""
        return self._folder / ".lock"

    def ask(self, voice: CustomVoice) -> None:
        """Notes that a voice is to be refined; one that is being refined already goes on."""
        if voice.reference is None:
            raise NoReference
        known = self.find(voice.voice_id)
        if known is None or known.sound != voice.sound:
            self._keep(Refinement(voice.voice_id, voice.sound, Search.start()))

    def go_on(self, refinement: Refinement) -> bool:
        """Notes how far it has come, if it is still wanted."""
        known = self.find(refinement.voice_id)
        if known is None or known.sound != refinement.sound:
            return False
        self._keep(refinement)
        return True

    def drop(self, voice_id: str, sound: str | None = None) -> None:
        """Forgets about it, if there is one; with a `sound`, only if it is about that."""
        known = self.find(voice_id)
        if sound is None or known is None or known.sound == sound:
            (self._folder / voice_id).unlink(missing_ok=True)

    def find(self, voice_id: str) -> Refinement | None:
        """None also for one that is damaged: what it had found is lost, and the voice as good as before."""
        try:
            return Refinement.from_bytes(voice_id, (self._folder / voice_id).read_bytes())
        except (OSError, ValueError):
            return None

    def progress(self, voice: CustomVoice) -> float | None:
        """From 0 to 1, or None when the voice is not to be refined."""
        known = self.find(voice.voice_id)
        return known.search.progress if known and known.sound == voice.sound else None

    def waiting(self) -> list[str]:
        """The ids of the voices: those that were begun, then those that have waited longest."""
        found = []
        for file in self._folder.glob("custom-*"):
            with suppress(OSError):  # dropped just now
                if ID.fullmatch(file.name):
                    known = self.find(file.name)
                    found.append((-known.search.generation if known else 0, file.stat().st_mtime, file.name))
        return [voice_id for *_, voice_id in sorted(found)]

    def _keep(self, refinement: Refinement) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_files.write(self._folder / refinement.voice_id, refinement.to_bytes())
        except OSError as error:
            raise StorageUnavailable(str(error)) from error
