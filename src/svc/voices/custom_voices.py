"""Keeps the catalogue in step with the custom voices on disk, whichever process wrote them."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from threading import Lock

from svc.auth.keys import Principal, Quota
from svc.errors import StorageUnavailable, VoiceLimitReached, VoiceNotFound
from svc.process.tasks import Supervisor
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.store import VoiceStore

log = logging.getLogger(__name__)

_POLL_SECONDS = 2.0


class CustomVoices:
    def __init__(self, store: VoiceStore, voices: VoiceCatalogue) -> None:
        self.store = store
        self._voices = voices
        self._lock = Lock()
        self._generation = -1
        self._signatures: dict[str, tuple[int, int]] = {}
        self._loaded: dict[str, CustomVoice] = {}

    def __len__(self) -> int:
        return len(self._signatures)

    def __iter__(self) -> Iterator[CustomVoice]:
        return iter(tuple(self._loaded.values()))

    def load(self) -> None:
        """Never fails: a voice that cannot be read is logged and left out."""
        with suppress(StorageUnavailable):  # logged by the store; what can be read is loaded all the same
            self.store.tidy()
        with suppress(OSError):  # the poll tells
            self.refresh()

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        """Polls for changes by other processes: the command line, or a server that shares the folder.

        While the disk does not answer, the loaded voices stay available.
        """

        async def refresh() -> None:
            await asyncio.to_thread(self.refresh)

        return supervisor.repeating("voice_refresh", refresh, _POLL_SECONDS, expected=(OSError,))

    def require_room(self, quota: Quota, caller: Principal) -> None:
        """Raises `VoiceLimitReached` if the caller may add no further voice."""
        self.refresh()
        if len(self) >= quota.all_keys:
            raise VoiceLimitReached(quota.all_keys)
        limit = quota.of_key(caller, caller.limits.max_voices)
        if sum(voice.key_id == caller.key_id for voice in self._loaded.values()) >= limit:
            raise VoiceLimitReached(limit, of_key=True)

    def add(self, voice: CustomVoice, reference: bytes | None, quota: Quota, caller: Principal) -> None:
        self.store.add(voice, reference, require_room=lambda: self.require_room(quota, caller))
        self.refresh()

    def change(
        self, voice_id: str, revise: Callable[[CustomVoice], CustomVoice], reference: bytes | None = None
    ) -> CustomVoice:
        voice = self.store.change(voice_id, revise, reference)
        self.refresh()
        return voice

    def remove(self, voice_id: str) -> None:
        self.store.remove(voice_id)
        self.refresh()

    def refresh(self) -> None:
        """Loads what changed on disk into the catalogue."""
        with self._lock:
            generation = self.store.generation()
            if generation == self._generation:
                return
            signatures = self.store.signatures()
            loaded = {voice_id: voice for voice_id, voice in self._loaded.items() if voice_id in signatures}
            for voice_id, signature in signatures.items():
                if signature != self._signatures.get(voice_id):
                    loaded.pop(voice_id, None)
                    with suppress(VoiceNotFound):  # removed at this moment
                        if voice := self._read(voice_id):
                            loaded[voice_id] = voice
            self._voices.replace_custom(loaded.values())
            self._loaded, self._signatures, self._generation = loaded, signatures, generation

    def _read(self, voice_id: str) -> CustomVoice | None:
        try:
            return self.store.read(voice_id)
        except DamagedVoice as problem:
            log.error("the voice %s is damaged and left out: %s", voice_id, problem)
            return None
