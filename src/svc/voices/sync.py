"""Sync of custom voices with object storage, so that other regions have them and a lost disk loses none.

Local changes are uploaded from the pending uploads; changes of other servers are fetched every few seconds. While the
object store is down, slow or full, changes wait: none is lost.

Of two versions of a voice, the one with the greater `CustomVoice.version` wins on every server, and a removal wins over
both. An upload replaces only the version that it has compared itself with; if another server was faster, it compares
again. Every fetch looks for what differs all the same (an object store that ignores conditions, objects that were
deleted or damaged), and queues the upload that repairs it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from svc.errors import StorageUnavailable, VoiceNotFound
from svc.process.tasks import Supervisor
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.object_store import ListedVoice, Overtaken, StoredVoice, VoiceObjects
from svc.voices.store import VoiceStore

log = logging.getLogger(__name__)

_UPLOAD_POLL_SECONDS = 1.0
_MAX_FAILURES = 3  # in one round: with more, it is the store that fails rather than single voices
_MAX_ATTEMPTS = 10  # of one upload that other servers overtake

# An object that no voice.json names may be that of an upload whose voice.json follows.
_LEFTOVER_AGE = timedelta(minutes=15)

FAILURES = (BaseError, OSError, TimeoutError, StorageUnavailable)


@dataclass(frozen=True, slots=True)
class Lag:
    waiting: int
    """How many changes the object store does not have yet."""
    seconds: float
    """The age of the oldest of them."""
    fetched_ago: float | None
    """Seconds since the last complete fetch; None before the first one."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A version of a voice, here or in the object store."""

    tag: object
    """Changes with the content."""
    version: tuple[int, float, str] | None
    """None if it is damaged."""
    reference: str | None = None
    """The name of its reference."""

    @classmethod
    def of(cls, tag: object, voice: CustomVoice) -> "_Known":
        return cls(tag, voice.version, voice.reference.name if voice.reference else None)


class VoiceSync:
    def __init__(
        self, object_store: ObjectStore, store: VoiceStore, refresh: Callable[[], None], fetch_seconds: float
    ) -> None:
        """`store` must track its uploads; `refresh` is called after each fetch that changed something."""
        if store.pending_uploads is None:
            raise ValueError("the voice store does not track uploads")
        self._objects = VoiceObjects(object_store)
        self._store = store
        self._pending_uploads = store.pending_uploads
        self._refresh = refresh
        self._fetch_seconds = fetch_seconds
        self._stored: dict[str, _Known] = {}
        self._local: dict[str, _Known] = {}
        self._fetch_failures: dict[str, int] = {}
        self._upload_failures: dict[str, int] = {}
        self._logged_damage: dict[str, object] = {}
        self._fetched_at: float | None = None
        self._waiting_since: list[float] = []
        self._counting = Lock()
        with suppress(OSError):  # it is counted again in the background
            self._count_waiting()

    def lag(self) -> Lag:
        """As the background work last counted it: reads no file."""
        now, waiting_since = time.time(), self._waiting_since
        return Lag(
            waiting=len(waiting_since),
            seconds=max((now - since for since in waiting_since), default=0.0),
            fetched_ago=None if self._fetched_at is None else now - self._fetched_at,
        )

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Fetches and uploads in the background, beginning at once."""
        async with (
            supervisor.repeating("voice_fetch", self.fetch, self._fetch_seconds, expected=FAILURES),
            supervisor.repeating("voice_upload", self.upload, _UPLOAD_POLL_SECONDS, expected=FAILURES),
            # On its own: an upload can wait for a slow object store.
            supervisor.repeating("voice_lag", self._measure_lag, _UPLOAD_POLL_SECONDS, expected=FAILURES),
        ):
            yield

    async def _measure_lag(self) -> None:
        await asyncio.to_thread(self._count_waiting)

    def _count_waiting(self) -> None:
        with self._counting:  # of two at once, the one that saw less might come last
            self._waiting_since = [upload.since for upload in self._pending_uploads.read_all()]

    async def upload(self) -> None:
        """Uploads the pending changes; raises the last failure."""
        pending = {upload.voice_id: upload for upload in await asyncio.to_thread(self._pending_uploads.read_all)}

        async def upload_one(voice_id: str) -> None:
            await self._upload_voice(voice_id)
            await asyncio.to_thread(self._store.complete_upload, pending[voice_id])

        try:
            await try_each(pending, upload_one, self._upload_failures)
        finally:
            await self._measure_lag()

    async def _upload_voice(self, voice_id: str) -> None:
        if await asyncio.to_thread(self._store.is_removed, voice_id):
            await self._objects.put_removal(voice_id)
            await self._objects.delete_voice(voice_id)
            return
        try:
            voice, reference = await asyncio.to_thread(self._store.read_whole, voice_id)
        except VoiceNotFound:  # a crash came between recording the upload and writing the voice
            return
        except DamagedVoice as problem:
            log.error("the voice %s is damaged and not uploaded: %s", voice_id, problem)
            return
        if await self._objects.is_removed(voice_id):
            await asyncio.to_thread(self._store.apply_fetched_removal, voice_id)
            await asyncio.to_thread(self._refresh)
            return
        for _ in range(_MAX_ATTEMPTS):
            stored = await self._objects.fetch_voice(voice_id)
            if stored and stored.voice and stored.voice.version > voice.version:
                return  # the next fetch replaces the version here
            with suppress(Overtaken):
                await self._put(voice, reference, stored)
                return
        raise TimeoutError(f"other servers change the voice {voice_id} all the time")

    async def _put(self, voice: CustomVoice, reference: bytes | None, stored: StoredVoice | None) -> None:
        """voice.json last: a server that finds it finds the reference, too."""
        if reference is not None:
            await self._objects.put_reference(voice, reference)
        if stored is None or stored.voice is None or stored.voice.version != voice.version:
            await self._objects.put_voice(voice, stored)

    async def fetch(self) -> None:
        """Saves what changed on other servers, and queues uploads of what the object store lacks."""
        removed = await self._objects.list_removed()
        listed = await self._objects.list_voices()
        changed = await asyncio.to_thread(self._apply_removals, removed)
        local = await asyncio.to_thread(self._read_local_versions)
        self._stored = {voice_id: known for voice_id, known in self._stored.items() if voice_id in listed}

        async def compare(voice_id: str) -> None:
            nonlocal changed
            if voice_id in removed:  # an upload came at the moment of the removal, or somebody put it back
                await self._objects.delete_voice(voice_id)
            elif await self._compare(voice_id, listed.get(voice_id), local.get(voice_id)):
                changed = True

        try:
            await try_each(listed.keys() | (local.keys() - removed), compare, self._fetch_failures)
        finally:
            if changed:
                await asyncio.to_thread(self._refresh)
        self._fetched_at = time.time()

    def _apply_removals(self, removed: set[str]) -> bool:
        new = [voice_id for voice_id in removed if not self._store.is_removed(voice_id)]
        for voice_id in new:
            self._store.apply_fetched_removal(voice_id)
        return bool(new)

    def _read_local_versions(self) -> dict[str, _Known]:
        """The versions of the voices here; only those that changed are read."""
        found = {}
        for voice_id, signature in self._store.signatures().items():
            known = self._local.get(voice_id)
            if known is None or known.tag != signature:
                try:
                    known = _Known.of(signature, self._store.read(voice_id))
                except DamagedVoice:
                    known = _Known(signature, None)
                except VoiceNotFound:  # removed at this moment
                    continue
            found[voice_id] = known
        self._local = found
        return found

    async def _compare(self, voice_id: str, listed: ListedVoice | None, local: _Known | None) -> bool:
        """Brings the version here and the stored one together, whichever is later; tells whether one was saved."""
        stored, voice = await self._look_up(voice_id, listed, local)
        if stored and local is None and await asyncio.to_thread(self._store.is_removed, voice_id):
            await asyncio.to_thread(self._store.queue_upload, voice_id)  # the object store has lost the tombstone
        elif stored and voice and _is_later(stored, local):
            return await self._save(voice, stored)
        elif _is_later(local, stored) or (local and listed and _lacks_reference(listed, stored)):
            await asyncio.to_thread(self._store.queue_upload, voice_id)
        elif listed:
            await self._delete_leftovers(voice_id, listed, stored)
        return False

    async def _look_up(
        self, voice_id: str, listed: ListedVoice | None, local: _Known | None
    ) -> tuple[_Known | None, CustomVoice | None]:
        """What is known of the stored version, and the voice itself unless the one here is as late."""
        if listed is None or listed.tag is None:
            return None, None
        known = self._stored.get(voice_id)
        if known and known.tag == listed.tag and not _is_later(known, local):
            return known, None
        found = await self._objects.fetch_voice(voice_id)
        if found is None:
            return None, None
        if found.voice:
            known = _Known.of(listed.tag, found.voice)
        else:
            known = _Known(listed.tag, None)
            self._log_damage(voice_id, known, found.problem)
        self._stored[voice_id] = known
        return known, found.voice

    async def _save(self, voice: CustomVoice, stored: _Known) -> bool:
        try:
            reference = await self._objects.fetch_reference(voice)
            await asyncio.to_thread(self._store.save_fetched, voice, reference)
        except DamagedVoice as problem:  # the next round tries again: a server that has the reference restores it
            self._log_damage(voice.voice_id, stored, str(problem))
            return False
        except VoiceNotFound:  # removed here in the meantime
            return False
        return True

    def _log_damage(self, voice_id: str, stored: _Known, problem: str) -> None:
        """Once for each version: every round finds it again."""
        if self._logged_damage.get(voice_id) != stored.tag:
            self._logged_damage[voice_id] = stored.tag
            log.error("the voice %s is damaged in the object store and left out: %s", voice_id, problem)

    async def _delete_leftovers(self, voice_id: str, listed: ListedVoice, stored: _Known | None) -> None:
        """Deletes what the stored version does not name: the references of earlier ones, and of broken uploads."""
        now = datetime.now(UTC)
        old = {name for name, written in listed.references.items() if now - written > _LEFTOVER_AGE}
        named = {stored.reference} if stored else set()
        if (stored and stored.version is None) or not old - named:  # a damaged voice may be repaired with them
            return
        # Looked at again, right before: another server may name it since the list was made. If it comes to name it
        # at this very moment, the next fetch of a server that has the reference finds that it is missing.
        latest = await self._objects.fetch_voice(voice_id)
        if latest and latest.voice is None:
            return
        if latest and latest.voice and latest.voice.reference:
            named.add(latest.voice.reference.name)
        for name in old - named:
            await self._objects.delete_object(voice_id, name)


def _is_later(one: _Known | None, other: _Known | None) -> bool:
    """Any intact version is later than none and than a damaged one."""
    if one is None or one.version is None:
        return False
    return other is None or other.version is None or one.version > other.version


def _lacks_reference(listed: ListedVoice, stored: _Known | None) -> bool:
    return stored is not None and stored.reference is not None and stored.reference not in listed.references


async def try_each(voice_ids: Iterable[str], work: Callable[[str], Awaitable[None]], failures: dict[str, int]) -> None:
    """Does the work for each voice; raises the last failure at the end, or when there are too many."""
    last: BaseException | None = None
    failed = 0
    # Voices that failed before come last: one that always fails must not hold up the others.
    for voice_id in sorted(voice_ids, key=lambda voice_id: failures.get(voice_id, 0)):
        try:
            await work(voice_id)
        except FAILURES as error:
            last, failed = error, failed + 1
            failures[voice_id] = failures.get(voice_id, 0) + 1
            if failed == _MAX_FAILURES:
                break
        else:
            failures.pop(voice_id, None)
    if last is not None:
        raise last
