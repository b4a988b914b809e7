"""Sync of dictionaries with object storage, so that other regions have them and a lost disk loses none.

    dictionaries/5xM3…/version-….json     as on disk, with its checksum
    dictionaries/5xM3…/state-….json       the greatest name is the latest state
    dictionaries/removed/5xM3…            a tombstone: it wins over everything else, for good

No object is ever changed: servers exchange the ones that they lack, and remove the oldest versions of a dictionary that
has too many. So versions that two servers made at the same time are all kept, and both servers agree on the latest
state, which has the greatest name. Every round compares everything, and repairs what is missing or was cut off.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore

from svc.dictionaries.dictionary import ID, MAX_FILE_BYTES, DamagedFile
from svc.dictionaries.store import DictionaryStore, StoredFiles
from svc.errors import DictionaryNotFound
from svc.process.tasks import Supervisor
from svc.voices.sync import FAILURES, Lag, try_each

log = logging.getLogger(__name__)

_ROOT, _REMOVED = "dictionaries", "removed"
_UPLOAD_POLL_SECONDS = 1.0


class DictionarySync:
    def __init__(
        self, object_store: ObjectStore, store: DictionaryStore, refresh: Callable[[], None], fetch_seconds: float
    ) -> None:
        """`refresh` is called after each fetch."""
        self._object_store = object_store
        self._store = store
        self._refresh = refresh
        self._fetch_seconds = fetch_seconds
        self._one_at_a_time = asyncio.Lock()
        self._stored: dict[str, StoredFiles] = {}
        self._stored_removed: set[str] = set()
        self._uploaded_generation = -1
        self._failures: dict[str, int] = {}
        self._logged_damage: set[str] = set()
        self._waiting_since: list[float] = []
        self._fetched_at: float | None = None

    def lag(self) -> Lag:
        """As the background work last counted it: reads no file."""
        now, waiting = time.time(), self._waiting_since
        return Lag(
            waiting=len(waiting),
            seconds=max((now - since for since in waiting), default=0.0),
            fetched_ago=None if self._fetched_at is None else now - self._fetched_at,
        )

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Fetches and uploads in the background, beginning at once."""
        async with (
            supervisor.repeating("dictionary_fetch", self.fetch, self._fetch_seconds, expected=FAILURES),
            supervisor.repeating("dictionary_upload", self.upload, _UPLOAD_POLL_SECONDS, expected=FAILURES),
        ):
            yield

    async def upload(self) -> None:
        """Uploads what changed here since the last time; raises the last failure."""
        generation = await asyncio.to_thread(self._store.generation)
        if generation == self._uploaded_generation:
            return
        if self._fetched_at is None:  # only then it is known what the object store has
            await self.fetch()
        else:
            async with self._one_at_a_time, self._counting():
                await self._exchange(fetch=False)
        self._uploaded_generation = generation

    async def fetch(self) -> None:
        """Saves what other servers have made, and uploads what the object store lacks."""
        async with self._one_at_a_time, self._counting():
            self._stored, self._stored_removed = await self._list()
            try:
                await asyncio.to_thread(self._apply_removals)
                await self._exchange(fetch=True)
            finally:
                await asyncio.to_thread(self._refresh)
            self._fetched_at = time.time()

    @asynccontextmanager
    async def _counting(self) -> AsyncIterator[None]:
        """Counts at the end what still waits, also after a failure."""
        try:
            yield
        finally:
            await asyncio.to_thread(self._count_waiting)

    def _apply_removals(self) -> None:
        for dictionary_id in self._stored_removed - self._store.list_removed():
            self._store.apply_fetched_removal(dictionary_id)

    async def _exchange(self, *, fetch: bool) -> None:
        local = await asyncio.to_thread(self._store.list_files)
        removed = await asyncio.to_thread(self._store.list_removed)

        async def exchange(dictionary_id: str) -> None:
            stored = self._stored.get(dictionary_id, StoredFiles())
            here = local.get(dictionary_id, StoredFiles())
            if dictionary_id in removed:  # if it is stored all the same, an upload came at the moment of the removal
                await self._remove(dictionary_id, stored)
                return
            if fetch:
                await self._fetch_missing(dictionary_id, here, stored)
                here = await self._prune(dictionary_id, here, stored)
            await self._upload_missing(dictionary_id, here, stored)

        wanted = local.keys() | (self._stored.keys() if fetch else set()) | (removed - self._stored_removed)
        await try_each(wanted, exchange, self._failures)

    async def _remove(self, dictionary_id: str, stored: StoredFiles) -> None:
        await obstore.put_async(self._object_store, f"{_ROOT}/{_REMOVED}/{dictionary_id}", b"{}")
        self._stored_removed.add(dictionary_id)
        await self._delete(dictionary_id, set(stored.sizes))

    async def _fetch_missing(self, dictionary_id: str, here: StoredFiles, stored: StoredFiles) -> None:
        """Saves the versions that are missing here, then the state if it is later."""
        wanted = sorted(stored.versions - here.versions)
        if stored.state and stored.state > (here.state or ""):
            wanted.append(stored.state)
        for name in wanted:
            content = await self._get(dictionary_id, name)
            try:
                if content is not None:
                    await asyncio.to_thread(self._store.save_fetched, dictionary_id, name, content)
            except DamagedFile as problem:
                self._log_damage(dictionary_id, name, str(problem))
            except DictionaryNotFound:  # removed here in the meantime
                return

    async def _prune(self, dictionary_id: str, here: StoredFiles, stored: StoredFiles) -> StoredFiles:
        """Removes the versions that are too many, here and there; returns what is left of those that were here."""
        try:
            pruned = await asyncio.to_thread(self._store.prune, dictionary_id)
        except (DictionaryNotFound, DamagedFile):  # removed meanwhile, or its state is not there yet
            return here
        await self._delete(dictionary_id, pruned & stored.versions)
        return StoredFiles({name: size for name, size in here.sizes.items() if name not in pruned})

    async def _upload_missing(self, dictionary_id: str, here: StoredFiles, stored: StoredFiles) -> None:
        """Versions first: a server that finds the state finds its version, too."""
        wanted = sorted(here.versions - stored.versions)
        if here.state and here.state > (stored.state or ""):
            wanted.append(here.state)
        cut_off = [name for name, size in here.sizes.items() if stored.sizes.get(name, size) != size]
        for name in [*cut_off, *wanted]:
            try:
                content = await asyncio.to_thread(self._store.read_file, dictionary_id, name)
            except DamagedFile as problem:
                if not await asyncio.to_thread(self._store.is_removed, dictionary_id):
                    log.error("%s of the dictionary %s is damaged and not uploaded: %s", name, dictionary_id, problem)
                return
            path = f"{_ROOT}/{dictionary_id}/{name}"
            with suppress(AlreadyExistsError):  # another server was faster
                await obstore.put_async(
                    self._object_store, path, content, mode="overwrite" if name in cut_off else "create"
                )
            self._stored.setdefault(dictionary_id, stored).sizes[name] = len(content)
        latest = self._stored.get(dictionary_id, stored)
        await self._delete(dictionary_id, latest.states - {latest.state})

    async def _delete(self, dictionary_id: str, names: Iterable[str]) -> None:
        for name in names:
            with suppress(FileNotFoundError):  # another server was faster
                await obstore.delete_async(self._object_store, f"{_ROOT}/{dictionary_id}/{name}")
            self._stored[dictionary_id].sizes.pop(name, None)

    async def _get(self, dictionary_id: str, name: str) -> bytes | None:
        try:
            result = await obstore.get_async(self._object_store, f"{_ROOT}/{dictionary_id}/{name}")
        except FileNotFoundError:  # another server has replaced it
            return None
        if result.meta["size"] > MAX_FILE_BYTES:
            self._log_damage(dictionary_id, name, "it is too large for a dictionary")
            return None
        return bytes(await result.bytes_async())

    async def _list(self) -> tuple[dict[str, StoredFiles], set[str]]:
        files: dict[str, StoredFiles] = {}
        removed = set()
        async for found in obstore.list(self._object_store, prefix=_ROOT):
            for each in found:
                *_, folder, name = each["path"].split("/")
                if folder == _REMOVED and ID.fullmatch(name):
                    removed.add(name)
                elif ID.fullmatch(folder):
                    files.setdefault(folder, StoredFiles()).sizes[name] = each["size"]
        return files, removed

    def _count_waiting(self) -> None:
        waiting = []
        for dictionary_id, here in self._store.list_files().items():
            stored = self._stored.get(dictionary_id, StoredFiles())
            missing = here.versions - stored.versions
            if here.state and here.state > (stored.state or ""):
                missing.add(here.state)
            waiting += [self._store.find_age(dictionary_id, name) for name in missing]
        removed = self._store.list_removed() - self._stored_removed
        self._waiting_since = waiting + [self._store.find_age("removed", each) for each in removed]

    def _log_damage(self, dictionary_id: str, name: str, problem: str) -> None:
        """Once for each object: every round finds it again."""
        if name not in self._logged_damage:
            self._logged_damage.add(name)
            log.error("%s of the dictionary %s is damaged in the object store: %s", name, dictionary_id, problem)
