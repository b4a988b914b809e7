"""Verification of credentials, for requests and for sockets."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from svc.auth.keys import (
    ANYONE,
    Kind,
    Principal,
    Scope,
    StaticKeys,
    StoredKey,
    hash_credential,
    is_operator,
    parse_kind,
)
from svc.auth.table import KeysTable
from svc.errors import InsufficientScope, InvalidApiKey, KeysUnavailable, MissingApiKey

_MAX_KNOWN = 10_000
_MAX_UNKNOWN = 1_000
_UNKNOWN_SECONDS = 1.0


class Verifier:
    """Verifies static keys and, if there is one, those of the keys table. With neither, the service is open."""

    def __init__(
        self,
        static_keys: StaticKeys,
        table: KeysTable | None,
        *,
        clock: Callable[[], float],
        cache_seconds: float,
        grace_seconds: float,
        note_use: Callable[[str], None],
    ) -> None:
        self._static_keys = static_keys
        self._table = table
        self._clock = clock
        self._cache = table and KeyCache(table.find, clock, cache_seconds, grace_seconds)
        self._note_use = note_use

    @property
    def open(self) -> bool:
        return not self._static_keys and self._table is None

    async def verify(self, credential: str | None) -> Principal:
        """The principal of a credential. What it may do is not checked here: see `Principal.may`."""
        if self.open:
            return ANYONE
        if not credential:
            raise MissingApiKey
        digest = hash_credential(credential)
        if principal := self._static_keys.find(digest):
            return principal
        if self._cache is None or parse_kind(credential) is None:
            raise InvalidApiKey
        return self._check(await self._cache.find(digest), digest)

    async def admit(self, credential: str | None) -> Principal:
        """The principal of a credential that opens a realtime socket; consumes a single-use token."""
        principal = await self.verify(credential)
        if not principal.may(Scope.TTS, Scope.TTS_WEBSOCKET):
            raise InsufficientScope
        if Scope.TTS_WEBSOCKET in principal.scopes:
            return await self._consume(principal)
        return principal

    async def recheck(self, principal: Principal) -> Principal:
        """The principal with the limits that its key has now; raises if the credential has expired or was revoked.

        Cheap enough for every message of a socket.
        """
        if not principal.digest or not self._cache:
            return principal
        found = self._check(await self._cache.find(principal.digest), principal.digest)
        return replace(principal, limits=found.limits)

    async def _consume(self, token: Principal) -> Principal:
        """Uses up a single-use token. It only had to open the socket in time: from now on the key that it was minted
        with is rechecked, which a rotation replaces."""
        assert self._table is not None
        assert self._cache is not None
        assert token.digest is not None
        stored = await self._cache.find(token.digest)
        if stored is None or not await self._table.consume(token.digest, self._clock()):
            raise InvalidApiKey
        # A static key has no row, and cannot change while this server runs.
        return replace(token, expires_at=None, digest=None if is_operator(token.key_id) else stored.minted_with)

    def _check(self, key: StoredKey | None, digest: str) -> Principal:
        if key is None or not key.is_valid(self._clock()) or self._has_lost_its_static_key(key):
            raise InvalidApiKey
        if key.kind is Kind.KEY:
            self._note_use(key.id)
        token_id = None if key.kind is Kind.KEY else key.id
        return Principal(key.minted_by or key.id, key.scopes, key.expires_at, digest, key.limits, token_id)

    def _has_lost_its_static_key(self, token: StoredKey) -> bool:
        if token.minted_by is None or token.minted_with is None or not is_operator(token.minted_by):
            return False
        return token.minted_with != self._static_keys.mark(token.minted_by)


@dataclass(slots=True)
class _Entry:
    key: StoredKey | None
    read_at: float
    """When it was read from the database."""
    valid_from: float
    valid_until: float
    """It is used without a query between these times. With both, a clock that is set back does not prolong it."""


class KeyCache:
    """Rows of the keys table by the hash of their credential, at most `seconds` old.

    While the database is unavailable, rows that were read within `grace_seconds` are still used.
    """

    def __init__(
        self,
        find: Callable[[str], Awaitable[StoredKey | None]],
        clock: Callable[[], float],
        seconds: float,
        grace_seconds: float,
    ) -> None:
        self._find = find
        self._clock = clock
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        # Separate, so that a flood of invented keys cannot evict real ones.
        self._known = OrderedDict[str, _Entry]()
        self._unknown = OrderedDict[str, _Entry]()

    async def find(self, digest: str) -> StoredKey | None:
        now = self._clock()
        entry = self._known.get(digest) or self._unknown.get(digest)
        if entry is not None and entry.valid_from <= now < entry.valid_until:
            return entry.key
        try:
            key = await self._find(digest)
        except KeysUnavailable:
            if entry is None or entry.key is None or now >= entry.read_at + self._grace_seconds:
                raise
            entry.valid_from = now
            entry.valid_until = min(now + self._seconds, entry.read_at + self._grace_seconds)
            return entry.key
        seconds = self._seconds if key else min(self._seconds, _UNKNOWN_SECONDS)
        self._store(digest, _Entry(key, now, now, now + seconds))
        return key

    def _store(self, digest: str, entry: _Entry) -> None:
        self._known.pop(digest, None)
        self._unknown.pop(digest, None)
        entries, max_entries = (self._known, _MAX_KNOWN) if entry.key else (self._unknown, _MAX_UNKNOWN)
        entries[digest] = entry
        while len(entries) > max_entries:
            entries.popitem(last=False)
