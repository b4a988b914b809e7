"""The custom voices of a running service: what is on the disk is in the catalogue, whoever put it there."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from threading import Lock

from svc import tasks
from svc.errors import StorageUnavailable, VoiceNotFound
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.store import VoiceStore

log = logging.getLogger(__name__)

_LOOK_EVERY = 2.0


class CustomVoices:
    def __init__(self, store: VoiceStore, voices: VoiceCatalogue) -> None:
        self.store = store
        self._voices = voices
        self._lock = Lock()
        self._generation = -1
        self._signatures: dict[str, tuple[int, int]] = {}
        self._known: dict[str, CustomVoice] = {}

    def __len__(self) -> int:
        return len(self._signatures)

    def load(self) -> None:
        """Never fails: a voice that cannot be read is reported and left out."""
        with suppress(StorageUnavailable):  # which was reported; what can be read is read
            self.store.tidy()
        self.refresh()

    def watched(self) -> AbstractAsyncContextManager[None]:
        """Looks now and then for what others changed: the command line, or a server that shares the folder."""
        return tasks.running(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            with suppress(OSError):  # a disk that does not answer takes nobody's voice away
                await asyncio.to_thread(self.refresh)

    def add(self, voice: CustomVoice, reference: bytes | None, limit: int) -> None:
        self.store.add(voice, reference, limit=limit)
        self.refresh()

    def change(
        self, voice_id: str, changed: Callable[[CustomVoice], CustomVoice], reference: bytes | None = None
    ) -> CustomVoice:
        voice = self.store.change(voice_id, changed, reference)
        self.refresh()
        return voice

    def remove(self, voice_id: str) -> None:
        self.store.remove(voice_id)
        self.refresh()

    def refresh(self) -> None:
        """Brings the catalogue up to date with the disk."""
        with self._lock:
            generation = self.store.generation()
            if generation == self._generation:
                return
            signatures = self.store.signatures()
            known = {voice_id: voice for voice_id, voice in self._known.items() if voice_id in signatures}
            for voice_id, signature in signatures.items():
                if signature != self._signatures.get(voice_id):
                    known.pop(voice_id, None)
                    with suppress(VoiceNotFound):  # removed just now
                        if voice := self._read(voice_id):
                            known[voice_id] = voice
            self._voices.put_custom(known.values())
            self._known, self._signatures, self._generation = known, signatures, generation

    def _read(self, voice_id: str) -> CustomVoice | None:
        try:
            return self.store.read(voice_id)
        except DamagedVoice as problem:
            log.error("the voice %s is damaged and left out: %s", voice_id, problem)
            return None
