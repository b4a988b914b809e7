"""Minting tokens: short-lived credentials with few rights, made with a key."""

from collections.abc import Callable

from svc.auth.keys import ANYONE, Kind, Principal, Scope, StaticKeys, generate_credential
from svc.auth.table import KeysTable
from svc.errors import NotSupported

_SINGLE_USE_SECONDS = 15 * 60
_MAX_DELETED = 20  # expired tokens for each new one: more than one, so that the table cannot grow without bound


class Tokens:
    def __init__(self, static_keys: StaticKeys, table: KeysTable | None, clock: Callable[[], float]) -> None:
        self._static_keys = static_keys
        self._table = table
        self._clock = clock

    async def mint_ephemeral(self, principal: Principal, seconds: int) -> tuple[str, int]:
        """A token for a browser, and when it expires."""
        return await self._mint(principal, Kind.EPHEMERAL, Scope.TTS, seconds)

    async def mint_single_use(self, principal: Principal) -> str:
        """A token that opens one realtime socket. An open server, to which any will do, keeps no record of it."""
        if principal == ANYONE:
            return generate_credential(Kind.SINGLE_USE)
        token, _ = await self._mint(principal, Kind.SINGLE_USE, Scope.TTS_WEBSOCKET, _SINGLE_USE_SECONDS)
        return token

    async def _mint(self, principal: Principal, kind: Kind, scope: Scope, seconds: int) -> tuple[str, int]:
        if self._table is None:
            raise NotSupported("Tokens need a keys table on this server: set SVC_API_KEYS_TABLE.")
        now = self._clock()
        expires_at = int(now) + seconds
        if principal.expires_at is not None:  # a token does not outlive its key
            expires_at = min(expires_at, principal.expires_at)
        await self._table.delete_expired_tokens(now, _MAX_DELETED)
        token, _ = await self._table.create(
            now,
            kind=kind,
            scopes=[scope],
            expires_at=expires_at,
            minted_by=principal.key_id,
            minted_with=principal.digest or self._static_keys.mark(principal.key_id),
        )
        return token, expires_at
