"""The one judge of credentials, for requests and for sockets."""

import ipaddress
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.auth.keys import ANYONE, Kind, Principal, Scope, StaticKeys, StoredKey, digest, kind_of
from svc.errors import InsufficientScope, InvalidApiKey, KeysUnavailable, MissingApiKey

if TYPE_CHECKING:  # SQLAlchemy takes its time to load: whoever has no table need not wait for it
    from svc.auth.table import KeysTable


_KNOWN = 10_000
_UNKNOWN = 1_000
_UNKNOWN_SECONDS = 1.0


@dataclass(slots=True)
class _Answer:
    key: StoredKey | None
    read_at: float
    """When the database said so."""
    since: float
    until: float
    """Between these times it counts without asking again. A clock that was set back must not make it last longer."""


class CachedKeys:
    """Rows by the hash of their credential, at most `seconds` old.

    While the database does not answer, a row that was read within `grace_seconds` still counts.
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
        # Apart, so that a flood of invented keys cannot push out the real ones.
        self._known = OrderedDict[str, _Answer]()
        self._unknown = OrderedDict[str, _Answer]()

    async def find(self, digest: str) -> StoredKey | None:
        now = self._clock()
        answer = self._known.get(digest) or self._unknown.get(digest)
        if answer is not None and answer.since <= now < answer.until:
            return answer.key
        try:
            key = await self._find(digest)
        except KeysUnavailable:
            if answer is None or answer.key is None or now >= answer.read_at + self._grace_seconds:
                raise
            answer.since, answer.until = now, min(now + self._seconds, answer.read_at + self._grace_seconds)
            return answer.key
        seconds = self._seconds if key else min(self._seconds, _UNKNOWN_SECONDS)
        self._keep(digest, _Answer(key, now, now, now + seconds))
        return key

    def _keep(self, digest: str, answer: _Answer) -> None:
        self._known.pop(digest, None)
        self._unknown.pop(digest, None)
        kept, size = (self._known, _KNOWN) if answer.key else (self._unknown, _UNKNOWN)
        kept[digest] = answer
        while len(kept) > size:
            kept.popitem(last=False)


class Verifier:
    """Knows the static keys and, if there is one, the keys table. With neither, the service is open."""

    def __init__(
        self,
        static_keys: StaticKeys,
        table: "KeysTable | None",
        *,
        clock: Callable[[], float],
        cache_seconds: float,
        grace_seconds: float,
        note_use: Callable[[str], None],
    ) -> None:
        self._static_keys = static_keys
        self._table = table
        self._clock = clock
        self._cached = table and CachedKeys(table.find, clock, cache_seconds, grace_seconds)
        self._note_use = note_use

    @property
    def open(self) -> bool:
        return not self._static_keys and self._table is None

    async def verify(self, credential: str | None) -> Principal:
        """Who sends this credential. Says nothing yet about what they may do: see `Principal.may`."""
        if self.open:
            return ANYONE
        if not credential:
            raise MissingApiKey
        credential_digest = digest(credential)
        if principal := self._static_keys.find(credential_digest):
            return principal
        if self._cached is None or kind_of(credential) is None:
            raise InvalidApiKey
        return self._judge(await self._cached.find(credential_digest), credential_digest)

    async def admit(self, credential: str | None) -> Principal:
        """Who opens a realtime socket with this credential; a single-use token is used up by it."""
        principal = await self.verify(credential)
        if not principal.may(Scope.TTS, Scope.TTS_WEBSOCKET):
            raise InsufficientScope
        if Scope.TTS_WEBSOCKET in principal.scopes and not await self._consume(principal):
            raise InvalidApiKey
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raises once a credential that was accepted earlier no longer counts. Cheap: for every message of a socket."""
        if principal.digest and self._cached:
            self._judge(await self._cached.find(principal.digest), principal.digest)

    async def _consume(self, principal: Principal) -> bool:
        assert self._table is not None
        assert principal.digest is not None
        return await self._table.consume(principal.digest, self._clock())

    def _judge(self, key: StoredKey | None, key_digest: str) -> Principal:
        if key is None or not key.live(self._clock()):
            raise InvalidApiKey
        if key.kind is Kind.KEY:
            self._note_use(key.id)
        return Principal(key.minted_by or key.id, key.scopes, key.expires_at, key_digest)


log = logging.getLogger(__name__)


def warn_if_exposed(host: str, is_open: bool) -> None:
    """Says so, loudly, when others can reach a service that lets everyone in."""
    if is_open and not _is_loopback(host):
        log.warning(
            "\n%s\n  WARNING: this service is OPEN. It listens on %s and asks for no key,\n"
            "  so whoever reaches it can use it. Set SVC_API_KEY, SVC_API_KEYS or\n"
            "  SVC_API_KEYS_TABLE, or listen on 127.0.0.1 only.\n%s",
            "!" * 76,
            host,
            "!" * 76,
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
