"""Sync of custom voices with object storage, so that other regions have them and a lost disk loses none.

    voices/custom-…/voice.json            as on disk, with its checksum
    voices/custom-…/reference-….flac      its checksum is in voice.json
    removed/custom-…                      a tombstone: it wins over everything else, for good

Local changes are uploaded from the pending uploads; changes of other servers are fetched every few seconds. While the
object store is down, slow or full, changes wait: none is lost.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from svc import tasks
from svc.errors import StorageUnavailable, VoiceNotFound
from svc.voices.custom_voice import (
    ID,
    MAX_REFERENCE_BYTES,
    MAX_VOICE_BYTES,
    CustomVoice,
    DamagedVoice,
    StoredReference,
)
from svc.voices.store import PendingUpload, VoiceStore

log = logging.getLogger(__name__)

_TIMEOUT = timedelta(seconds=30)
_CONNECT_TIMEOUT = timedelta(seconds=5)
_UPLOAD_POLL_SECONDS = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_MAX_FAILURES = 3  # in one round of uploads: with more, it is the store that fails rather than single voices

_FAILURES = (BaseError, OSError, TimeoutError, StorageUnavailable)


def open_object_store(url: str) -> ObjectStore:
    """Opens `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`, without connecting yet.

    Credentials and endpoints come from the environment variables of each cloud.
    """
    if url.startswith("file:"):
        return LocalStore(unquote(urlsplit(url).path), mkdir=True)
    try:
        return from_url(
            url,
            # Clouds are reached by HTTPS; plain HTTP is only used for an endpoint that is configured with it.
            client_options={"timeout": _TIMEOUT, "connect_timeout": _CONNECT_TIMEOUT, "allow_http": True},
            # Only for short failures: after longer ones `VoiceSync` tries again, with pauses.
            retry_config={"max_retries": 2, "retry_timeout": _TIMEOUT},
        )
    except BaseError as error:
        raise OSError(f"SVC_VOICE_MIRROR: {error}") from error


@dataclass(frozen=True, slots=True)
class Lag:
    waiting: int
    """How many changes the object store does not have yet."""
    seconds: float
    """The age of the oldest of them."""
    fetched_ago: float | None
    """Seconds since the last complete fetch; None before the first one."""


class VoiceSync:
    def __init__(
        self, object_store: ObjectStore, store: VoiceStore, refresh: Callable[[], None], fetch_seconds: float
    ) -> None:
        """`store` must track its uploads; `refresh` is called after each fetch that changed something."""
        if store.pending_uploads is None:
            raise ValueError("the voice store does not track uploads")
        self._object_store = object_store
        self._store = store
        self._pending_uploads = store.pending_uploads
        self._refresh = refresh
        self._fetch_seconds = fetch_seconds
        self._fetched_tags: dict[str, str] = {}
        self._upload_failures: dict[str, int] = {}
        self._fetched_at: float | None = None

    def lag(self) -> Lag:
        pending = self._pending_uploads.read_all()
        now = time.time()
        return Lag(
            waiting=len(pending),
            seconds=max((now - upload.since for upload in pending), default=0.0),
            fetched_ago=None if self._fetched_at is None else now - self._fetched_at,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Fetches and uploads in the background, beginning at once."""
        return tasks.run_in_background(
            self._repeat(self.fetch, self._fetch_seconds), self._repeat(self.upload, _UPLOAD_POLL_SECONDS)
        )

    async def _repeat(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Repeats the work; after failures with growing pauses, randomised so that servers do not retry in step."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await work()
            except _FAILURES as error:
                log.warning("the object store of the voices failed, trying again: %s", _shorten(error))
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE
                await asyncio.sleep(seconds)

    async def upload(self) -> None:
        """Uploads the pending changes; raises the last failure."""
        pending = await asyncio.to_thread(self._pending_uploads.read_all)
        failures: list[BaseException] = []
        # Voices that failed before come last: one that always fails must not hold up the others.
        for upload in sorted(pending, key=lambda upload: self._upload_failures.get(upload.voice_id, 0)):
            try:
                await self._upload_voice(upload)
            except _FAILURES as error:
                failures.append(error)
                self._upload_failures[upload.voice_id] = self._upload_failures.get(upload.voice_id, 0) + 1
                if len(failures) == _MAX_FAILURES:
                    break
            else:
                self._upload_failures.pop(upload.voice_id, None)
                await asyncio.to_thread(self._pending_uploads.complete, upload)
        if failures:
            raise failures[-1]

    async def _upload_voice(self, upload: PendingUpload) -> None:
        voice_id = upload.voice_id
        if self._store.is_removed(voice_id):
            await obstore.put_async(self._object_store, f"removed/{voice_id}", b"{}")
            await self._delete(voice_id)
            return
        try:
            voice = await asyncio.to_thread(self._store.read, voice_id)
            reference = await asyncio.to_thread(self._store.read_reference, voice)
        except VoiceNotFound:  # a crash came between recording the upload and writing the voice
            return
        except DamagedVoice as problem:
            log.error("the voice %s is damaged and not uploaded: %s", voice_id, problem)
            return
        if await self._exists(f"removed/{voice_id}"):
            await asyncio.to_thread(self._store.apply_fetched_removal, voice_id)
            await asyncio.to_thread(self._refresh)
            return
        stored = await self._fetch_voice(voice_id)
        if stored is None or stored.version < voice.version:
            await self._put(voice, reference)

    async def _put(self, voice: CustomVoice, reference: bytes | None) -> None:
        """voice.json last: a server that finds it finds the reference, too."""
        folder = f"voices/{voice.voice_id}"
        kept = {f"{folder}/voice.json"}
        if voice.reference and reference is not None:
            kept.add(f"{folder}/{voice.reference.name}")
            await obstore.put_async(self._object_store, f"{folder}/{voice.reference.name}", reference)
        await obstore.put_async(self._object_store, f"{folder}/voice.json", voice.to_bytes())
        await self._delete(voice.voice_id, kept)

    async def _delete(self, voice_id: str, kept: frozenset[str] | set[str] = frozenset()) -> None:
        """Deletes the objects of a voice, except those to keep."""
        async for found in obstore.list(self._object_store, prefix=f"voices/{voice_id}"):
            for each in found:
                if each["path"] not in kept:
                    await obstore.delete_async(self._object_store, each["path"])

    async def fetch(self) -> None:
        """Saves what changed on other servers, and adds pending uploads for voices that the object store lacks."""
        removed = {name for path, _ in await self._list("removed") if ID.fullmatch(name := path.split("/")[-1])}
        listed = await self._list("voices")
        stored = {
            parts[-2]: tag
            for path, tag in listed
            if (parts := path.split("/"))[-1] == "voice.json" and ID.fullmatch(parts[-2])
        }
        local = await asyncio.to_thread(self._store.signatures)
        changed = False
        for voice_id in removed:
            if not self._store.is_removed(voice_id):
                await asyncio.to_thread(self._store.apply_fetched_removal, voice_id)
                changed = True
        for voice_id, tag in stored.items():
            is_removed = voice_id in removed or self._store.is_removed(voice_id)
            if not is_removed and self._fetched_tags.get(voice_id) != tag:
                changed |= await self._save_if_later(voice_id)
                self._fetched_tags[voice_id] = tag
        pending = {upload.voice_id for upload in await asyncio.to_thread(self._pending_uploads.read_all)}
        for voice_id in local.keys() - stored.keys() - removed - pending:
            if not self._store.is_removed(voice_id):
                await asyncio.to_thread(self._pending_uploads.add, voice_id)
        if changed:
            await asyncio.to_thread(self._refresh)
        self._fetched_at = time.time()

    async def _save_if_later(self, voice_id: str) -> bool:
        """Fetches a voice and saves it, unless the local version is as late; tells whether it was saved."""
        voice = await self._fetch_voice(voice_id)
        if voice is None:
            return False
        try:
            known = await asyncio.to_thread(self._store.read, voice_id)
        except (VoiceNotFound, DamagedVoice):
            known = None
        if known is not None and known.version >= voice.version:
            return False
        try:
            reference = await self._fetch_reference(voice)
            await asyncio.to_thread(self._store.save_fetched, voice, reference)
        except DamagedVoice as problem:
            log.error("the voice %s is damaged in the object store and left out: %s", voice_id, problem)
            return False
        except VoiceNotFound:  # removed here in the meantime
            return False
        return True

    async def _fetch_voice(self, voice_id: str) -> CustomVoice | None:
        """None if the object store does not have it, or only a damaged one."""
        try:
            voice = CustomVoice.from_bytes(await self._get(f"voices/{voice_id}/voice.json", MAX_VOICE_BYTES))
            if voice.voice_id != voice_id:
                raise DamagedVoice(f"it is {voice.voice_id}")
        except FileNotFoundError:
            return None
        except DamagedVoice as problem:
            log.error("the voice %s is damaged in the object store: %s", voice_id, problem)
            return None
        return voice

    async def _fetch_reference(self, voice: CustomVoice) -> bytes | None:
        if voice.reference is None:
            return None
        try:
            content = await self._get(f"voices/{voice.voice_id}/{voice.reference.name}", MAX_REFERENCE_BYTES)
        except FileNotFoundError as error:
            raise DamagedVoice("its reference is missing") from error
        if StoredReference.of(content) != voice.reference:
            raise DamagedVoice("its reference does not match its checksum")
        return content

    async def _get(self, path: str, max_bytes: int) -> bytes:
        result = await obstore.get_async(self._object_store, path)
        if result.meta["size"] > max_bytes:
            raise DamagedVoice(f"{path} is too large for a voice")
        return bytes(await result.bytes_async())

    async def _exists(self, path: str) -> bool:
        try:
            await obstore.head_async(self._object_store, path)
        except FileNotFoundError:
            return False
        return True

    async def _list(self, prefix: str) -> list[tuple[str, str]]:
        """The paths below a prefix, each with a tag that changes with its content."""
        return [
            (each["path"], each["e_tag"] or f"{each['last_modified']} {each['size']}")
            async for found in obstore.list(self._object_store, prefix=prefix)
            for each in found
        ]


def _shorten(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
