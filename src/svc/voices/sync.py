"""The mirror: custom voices in object storage, so that other regions have them and a lost disk loses none.

    voices/custom-…/voice.json            as on the disk, with its checksum
    voices/custom-…/reference-….flac      whose checksum the voice knows
    removed/custom-…                      a tombstone: it wins over everything else, for ever

What has changed here goes out by the outbox; what has changed elsewhere is fetched every few seconds. A store that is
down, slow or full costs time, never a voice.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from svc import tasks
from svc.errors import StorageUnavailable, VoiceNotFound
from svc.voices.custom_voice import ID, CustomVoice, DamagedVoice, StoredReference
from svc.voices.store import Note, PendingUploads, VoiceStore

log = logging.getLogger(__name__)

_LOOK_EVERY = 1.0  # seconds between looks into the outbox
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_LARGEST_VOICE, _LARGEST_REFERENCE = 1_000_000, 20_000_000
_GIVE_UP_AFTER = 3  # failures in one round: the store is down, rather than one voice's luck

_PROBLEMS = (BaseError, OSError, TimeoutError, StorageUnavailable)


@dataclass(frozen=True, slots=True)
class Lag:
    waiting: int
    """Changes that the store has not taken yet."""
    seconds: float
    """For how long the oldest of them has been waiting."""
    fetched_ago: float | None
    """Seconds since the store was last looked through; None when it never was."""


class VoiceSync:
    def __init__(
        self,
        remote: ObjectStore,
        store: VoiceStore,
        pending_uploads: PendingUploads,
        refresh: Callable[[], None],
        every: float,
    ) -> None:
        """`refresh` is called after something was fetched, which happens `every` so many seconds."""
        self._remote = remote
        self._store = store
        self._pending_uploads = pending_uploads
        self._refresh = refresh
        self._every = every
        self._seen: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        self._fetched_at: float | None = None

    def lag(self) -> Lag:
        pending = self._pending_uploads.pending()
        now = time.time()
        return Lag(
            waiting=len(pending),
            seconds=max((now - note.since for note in pending), default=0.0),
            fetched_ago=None if self._fetched_at is None else now - self._fetched_at,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keeps both sides alike, beginning at once."""
        return tasks.running(self._repeat(self.fetch, self._every), self._repeat(self.send, _LOOK_EVERY))

    async def _repeat(self, work: Callable[[], Awaitable[None]], every: float) -> None:
        """Works again and again; after a failure with longer and longer pauses, which no two servers make alike."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await work()
            except _PROBLEMS as error:
                log.warning("the voice mirror does not answer, trying again: %s", _short(error))
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE
                await asyncio.sleep(every)

    async def send(self) -> None:
        """Tells the store what changed here; raises what the last failure was."""
        pending = await asyncio.to_thread(self._pending_uploads.pending)
        failed: list[BaseException] = []
        # Those that failed before come last: one that never works must not hold up the others.
        for note in sorted(pending, key=lambda note: self._failures.get(note.voice_id, 0)):
            try:
                await self._send(note)
            except _PROBLEMS as error:
                failed.append(error)
                self._failures[note.voice_id] = self._failures.get(note.voice_id, 0) + 1
                if len(failed) == _GIVE_UP_AFTER:
                    break
            else:
                self._failures.pop(note.voice_id, None)
                await asyncio.to_thread(self._pending_uploads.done, note)
        if failed:
            raise failed[-1]

    async def _send(self, note: Note) -> None:
        voice_id = note.voice_id
        if self._store.is_removed(voice_id):
            await obstore.put_async(self._remote, f"removed/{voice_id}", b"{}")
            await self._delete(voice_id)
            return
        try:
            voice = await asyncio.to_thread(self._store.read, voice_id)
            reference = await asyncio.to_thread(self._store.reference, voice)
        except VoiceNotFound:  # the change was noted, and a crash came before it was made
            return
        except DamagedVoice as problem:
            log.error("the voice %s is damaged and not mirrored: %s", voice_id, problem)
            return
        if await self._exists(f"removed/{voice_id}"):
            await asyncio.to_thread(self._store.bury, voice_id)
            await asyncio.to_thread(self._refresh)
            return
        there = await self._voice(voice_id)
        if there is None or there.version < voice.version:
            await self._put(voice, reference)

    async def _put(self, voice: CustomVoice, reference: bytes | None) -> None:
        """The voice last: whoever finds it finds all that belongs to it."""
        folder = f"voices/{voice.voice_id}"
        kept = {f"{folder}/voice.json"}
        if voice.reference and reference is not None:
            kept.add(f"{folder}/{voice.reference.name}")
            await obstore.put_async(self._remote, f"{folder}/{voice.reference.name}", reference)
        await obstore.put_async(self._remote, f"{folder}/voice.json", voice.to_bytes())
        await self._delete(voice.voice_id, kept)

    async def _delete(self, voice_id: str, kept: frozenset[str] | set[str] = frozenset()) -> None:
        """Deletes the objects of a voice, but for some."""
        async for found in obstore.list(self._remote, prefix=f"voices/{voice_id}"):
            for each in found:
                if each["path"] not in kept:
                    await obstore.delete_async(self._remote, each["path"])

    async def fetch(self) -> None:
        """Takes over what changed elsewhere, and notes what the store ought to have and has not."""
        removed = {name for path, _ in await self._list("removed") if ID.fullmatch(name := path.split("/")[-1])}
        listed = await self._list("voices")
        voices = {
            parts[-2]: tag
            for path, tag in listed
            if (parts := path.split("/"))[-1] == "voice.json" and ID.fullmatch(parts[-2])
        }
        here = await asyncio.to_thread(self._store.signatures)
        changed = False
        for voice_id in removed:
            if not self._store.is_removed(voice_id):
                await asyncio.to_thread(self._store.bury, voice_id)
                changed = True
        for voice_id, tag in voices.items():
            if voice_id not in removed and not self._store.is_removed(voice_id) and self._seen.get(voice_id) != tag:
                changed |= await self._take_over(voice_id)
                self._seen[voice_id] = tag
        waiting = {note.voice_id for note in await asyncio.to_thread(self._pending_uploads.pending)}
        for voice_id in here.keys() - voices.keys() - removed - waiting:
            if not self._store.is_removed(voice_id):
                await asyncio.to_thread(self._pending_uploads.note, voice_id)
        if changed:
            await asyncio.to_thread(self._refresh)
        self._fetched_at = time.time()

    async def _take_over(self, voice_id: str) -> bool:
        """Fetches a voice that is not here, or not in its latest version; tells whether it did."""
        voice = await self._voice(voice_id)
        if voice is None:
            return False
        try:
            known = await asyncio.to_thread(self._store.read, voice_id)
        except (VoiceNotFound, DamagedVoice):
            known = None
        if known is not None and known.version >= voice.version:
            return False
        try:
            reference = await self._reference(voice)
            await asyncio.to_thread(self._store.take_over, voice, reference)
        except DamagedVoice as problem:
            log.error("the voice %s is damaged in the mirror and left out: %s", voice_id, problem)
            return False
        except VoiceNotFound:  # removed here meanwhile
            return False
        return True

    async def _voice(self, voice_id: str) -> CustomVoice | None:
        """The voice as the store has it, if it has it whole."""
        try:
            voice = CustomVoice.from_bytes(await self._get(f"voices/{voice_id}/voice.json", _LARGEST_VOICE))
            if voice.voice_id != voice_id:
                raise DamagedVoice(f"it is {voice.voice_id}")
        except FileNotFoundError:
            return None
        except DamagedVoice as problem:
            log.error("the voice %s is damaged in the mirror: %s", voice_id, problem)
            return None
        return voice

    async def _reference(self, voice: CustomVoice) -> bytes | None:
        if voice.reference is None:
            return None
        try:
            content = await self._get(f"voices/{voice.voice_id}/{voice.reference.name}", _LARGEST_REFERENCE)
        except FileNotFoundError as error:
            raise DamagedVoice("its reference is missing") from error
        if StoredReference.of(content) != voice.reference:
            raise DamagedVoice("its reference does not match its checksum")
        return content

    async def _get(self, path: str, largest: int) -> bytes:
        result = await obstore.get_async(self._remote, path)
        if result.meta["size"] > largest:
            raise DamagedVoice(f"{path} is larger than any voice")
        return bytes(await result.bytes_async())

    async def _exists(self, path: str) -> bool:
        try:
            await obstore.head_async(self._remote, path)
        except FileNotFoundError:
            return False
        return True

    async def _list(self, prefix: str) -> list[tuple[str, str]]:
        """What there is, each path with a tag that changes with its content."""
        return [
            (each["path"], each["e_tag"] or f"{each['last_modified']} {each['size']}")
            async for found in obstore.list(self._remote, prefix=prefix)
            for each in found
        ]


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
