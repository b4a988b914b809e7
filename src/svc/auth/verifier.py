"""The one judge of credentials, for requests and for sockets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from svc.auth.cache import CachedKeys
from svc.auth.principal import ANYONE, Principal, Scope
from svc.auth.secret import Kind, digest, kind_of
from svc.auth.static_keys import StaticKeys
from svc.auth.stored_key import StoredKey
from svc.errors import InsufficientScope, InvalidApiKey, MissingApiKey

if TYPE_CHECKING:  # SQLAlchemy takes its time to load: whoever has no table need not wait for it
    from svc.auth.table import KeysTable


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
