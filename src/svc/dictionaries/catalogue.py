"""The dictionaries that exist, in memory; in step with the disk, whichever process wrote to it."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Annotated

from pydantic import Field

from svc.auth.keys import ANYONE, Principal, Quota, is_operator
from svc.dictionaries.dictionary import DamagedFile, Dictionary, Version, new_id
from svc.dictionaries.lexicon import DEFAULT_LANGUAGE, Lexicon
from svc.dictionaries.store import DictionaryStore, StoredFiles
from svc.errors import DictionaryLimitReached, DictionaryNotFound, NotDictionaryOwner, StorageUnavailable
from svc.process.tasks import Supervisor
from svc.text.pronunciation_rules import Match, PronunciationRule, RuleMatcher

log = logging.getLogger(__name__)

MAX_LOCATORS = 3
MAX_ID_LENGTH = 100  # more than any id has
_POLL_SECONDS = 2.0
_MATCHERS_KEPT = 32


@dataclass(frozen=True, slots=True)
class Locator:
    """A version of a pronunciation dictionary; without `version_id`, the latest one."""

    pronunciation_dictionary_id: Annotated[str, Field(max_length=MAX_ID_LENGTH)]
    version_id: Annotated[str, Field(max_length=MAX_ID_LENGTH)] | None = None


@dataclass(frozen=True, slots=True)
class AppliedVersion:
    """The rules of a version, which are read when a text first needs them: in the thread that synthesizes it."""

    dictionary_id: str
    version_id: str
    load: Callable[[str, str], RuleMatcher]

    def find(self, text: str, taken: Iterable[tuple[int, int]]) -> list[Match]:
        return self.load(self.dictionary_id, self.version_id).find(text, taken)


def describe_applied(rules: Iterable[object]) -> str:
    """The applied versions, as a response header names them."""
    applied = [f"{each.dictionary_id}/{each.version_id}" for each in rules if isinstance(each, AppliedVersion)]
    return ", ".join(applied) or "none"


class Dictionaries:
    def __init__(self, store: DictionaryStore, quota: Quota, private: bool = False) -> None:
        """With `private`, a dictionary that a key of the keys table made does not exist for others of that table."""
        self.store = store
        self._private = private
        self._quota = quota
        self._lock = Lock()
        self._generation = -1
        self._loaded: dict[str, Dictionary] = {}
        self._files: dict[str, StoredFiles] = {}
        self._read_matcher = lru_cache(_MATCHERS_KEPT)(lambda *ids: RuleMatcher(self.read_version(*ids).rules))

    def __len__(self) -> int:
        return len(self._loaded)

    def load(self) -> None:
        """Never fails: a dictionary that cannot be read is logged and left out."""
        with suppress(StorageUnavailable):  # logged by the store; what can be read is loaded all the same
            self.store.tidy()
        with suppress(OSError):
            self.refresh()

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        """Polls for changes by other processes: the command line, or a server that shares the folder."""

        async def refresh() -> None:
            await asyncio.to_thread(self.refresh)

        return supervisor.repeating("dictionary_refresh", refresh, _POLL_SECONDS, expected=(OSError,))

    def refresh(self) -> None:
        """Loads what changed on disk."""
        with self._lock:
            generation = self.store.generation()
            if generation == self._generation:
                return
            files = self.store.list_files()
            loaded = {}
            for dictionary_id, found in files.items():
                known = self._loaded.get(dictionary_id)
                if known is None or found.state != self._files[dictionary_id].state:
                    known = self._read(dictionary_id)
                if known:
                    loaded[dictionary_id] = known
            self._loaded, self._files, self._generation = loaded, files, generation

    def _read(self, dictionary_id: str) -> Dictionary | None:
        try:
            return self.store.read(dictionary_id)
        except DictionaryNotFound:  # removed at this moment, or only some of its files have been fetched
            return None
        except DamagedFile as problem:
            log.error("the dictionary %s is damaged and left out: %s", dictionary_id, problem)
            return None

    def list_for(self, caller: Principal) -> list[Dictionary]:
        return [dictionary for dictionary in self._loaded.values() if self._may_use(dictionary, caller)]

    def find(self, dictionary_id: str, caller: Principal = ANYONE) -> Dictionary:
        """Raises `DictionaryNotFound`, also for one that the caller may not use."""
        dictionary = self._loaded.get(dictionary_id)
        if dictionary is None or not self._may_use(dictionary, caller):
            raise DictionaryNotFound(dictionary_id)
        return dictionary

    def find_changeable(self, dictionary_id: str, caller: Principal) -> Dictionary:
        """Raises `NotDictionaryOwner` if the caller may use it, but not change it."""
        dictionary = self.find(dictionary_id, caller)
        if not caller.may_change(dictionary.key_id):
            raise NotDictionaryOwner(dictionary.name)
        return dictionary

    def _may_use(self, dictionary: Dictionary, caller: Principal) -> bool:
        return not self._private or is_operator(dictionary.key_id) or caller.may_change(dictionary.key_id)

    def read_version(self, dictionary_id: str, version_id: str) -> Version:
        """Reads it from disk; raises `DictionaryNotFound`, also for one that is damaged."""
        try:
            return self.store.read_version(dictionary_id, version_id)
        except DamagedFile as problem:
            log.error("the version %s of the dictionary %s is damaged: %s", version_id, dictionary_id, problem)
            raise DictionaryNotFound(f"{dictionary_id}/{version_id}") from problem

    def add(self, name: str, description: str, lexicon: Lexicon, caller: Principal) -> Dictionary:
        now = time.time()
        version = Version(new_id(), new_id(), int(now), tuple(lexicon.rules), lexicon.language)
        dictionary = Dictionary(
            version.dictionary_id,
            name,
            description,
            version.created_at,
            caller.key_id,
            version.version_id,
            len(version.rules),
            changed_at=now,
        )
        self.store.add(dictionary, version, lambda: self._require_room(caller))
        self.refresh()
        return dictionary

    def _require_room(self, caller: Principal) -> None:
        self.refresh()
        if len(self._files) >= self._quota.all_keys:
            raise DictionaryLimitReached(self._quota.all_keys)
        limit = self._quota.of_key(caller, caller.limits.max_dictionaries)
        if sum(dictionary.key_id == caller.key_id for dictionary in self._loaded.values()) >= limit:
            raise DictionaryLimitReached(limit, of_key=True)

    def edit_rules(
        self, dictionary_id: str, edit: Callable[[Sequence[PronunciationRule]], Sequence[PronunciationRule]]
    ) -> Dictionary:
        """Makes a new version with the rules that `edit` returns; of the earlier ones, the latest stay."""

        def revise(dictionary: Dictionary) -> tuple[Dictionary, Version]:
            before = self.read_version(dictionary_id, dictionary.version_id)
            rules = tuple(edit(before.rules))
            version = Version(dictionary_id, new_id(), int(time.time()), rules, before.language or DEFAULT_LANGUAGE)
            return dictionary.revise(version_id=version.version_id, rules_num=len(rules)), version

        return self._change(dictionary_id, revise)

    def edit(self, dictionary_id: str, name: str | None = None, archived: bool | None = None) -> Dictionary:
        """Changes what is not None."""

        def revise(dictionary: Dictionary) -> tuple[Dictionary, None]:
            since = dictionary.archived_at
            if archived is not None:
                since = (since or int(time.time())) if archived else None
            return dictionary.revise(name=name or dictionary.name, archived_at=since), None

        return self._change(dictionary_id, revise)

    def _change(
        self, dictionary_id: str, revise: Callable[[Dictionary], tuple[Dictionary, Version | None]]
    ) -> Dictionary:
        try:
            dictionary = self.store.change(dictionary_id, revise)
        except DamagedFile as problem:
            raise DictionaryNotFound(dictionary_id) from problem
        self.refresh()
        return dictionary

    def remove(self, dictionary_id: str) -> None:
        self.store.remove(dictionary_id)
        self.refresh()

    def resolve_locators(self, locators: Iterable[Locator]) -> tuple[AppliedVersion, ...]:
        """The rules of the first locators, in order. Those that name nothing are left out, and logged.

        Whoever knows the id of a dictionary may use it: nobody can guess one.

        Reads no file: it may be called on the event loop.
        """
        found = []
        for locator in list(locators)[:MAX_LOCATORS]:
            dictionary = self._loaded.get(locator.pronunciation_dictionary_id)
            version_id = locator.version_id or (dictionary.version_id if dictionary else "")
            files = self._files.get(locator.pronunciation_dictionary_id)
            if dictionary and files and f"version-{version_id}.json" in files.sizes:
                found.append(AppliedVersion(dictionary.dictionary_id, version_id, self._load_matcher))
            else:
                name, version = locator.pronunciation_dictionary_id, locator.version_id
                log.info(
                    "the pronunciation dictionary %.40r, version %.40r, does not exist and is ignored", name, version
                )
        return tuple(found)

    def _load_matcher(self, dictionary_id: str, version_id: str) -> RuleMatcher:
        """Without rules for a version that was removed, or found to be damaged, since a request named it."""
        try:
            return self._read_matcher(dictionary_id, version_id)
        except DictionaryNotFound:
            return RuleMatcher(())
