"""The keys table: the hashes of keys and tokens in a database, shared by all replicas."""

import logging
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from svc.auth.database import Rows, create_database
from svc.auth.keys import KeyLimits, Kind, Scope, StoredKey, generate_credential, hash_credential, visible_prefix
from svc.auth.schema import migrate
from svc.errors import KeysUnavailable

log = logging.getLogger(__name__)

_LIMITS = tuple(field.name for field in fields(KeyLimits))
_COLUMNS = (*(field.name for field in fields(StoredKey) if field.name != "limits"), *_LIMITS)


class KeysTable:
    """Every statement commits by itself; every method raises `KeysUnavailable` if the database fails."""

    def __init__(self, url: str) -> None:
        self._database = create_database(url)
        self._migrated = False
        self._reachable = False

    async def close(self) -> None:
        await self._database.close()

    async def open(self) -> None:
        """Creates or migrates the schema; without it, the first use does so."""
        await self._execute("SELECT 1")

    async def create(
        self,
        now: float,
        *,
        scopes: Iterable[Scope],
        name: str = "",
        kind: Kind = Kind.KEY,
        expires_at: int | None = None,
        minted_by: str | None = None,
        minted_with: str | None = None,
        limits: KeyLimits | None = None,
    ) -> tuple[str, StoredKey]:
        """A new key or token, which cannot be read again, and its row."""
        credential = generate_credential(kind)
        values = {
            "id": secrets.token_hex(6),
            "hash": hash_credential(credential),
            "kind": kind,
            "prefix": visible_prefix(credential),
            "name": name,
            "scopes": " ".join(sorted(scopes)),
            "minted_by": minted_by,
            "minted_with": minted_with,
            "created_at": int(now),
            "expires_at": expires_at,
            **asdict(limits or KeyLimits()),
        }
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        (row,) = await self._execute(
            f"INSERT INTO svc_keys ({', '.join(values)}) VALUES ({places}) RETURNING {', '.join(_COLUMNS)}",
            *values.values(),
        )
        return credential, _to_stored_key(row)

    async def find(self, digest: str) -> StoredKey | None:
        """The row of a credential. A token is revoked with its key, also by a rotation that a replica which minted it
        had not noticed yet."""
        own = {name: f"own.{name}" for name in _COLUMNS}
        inherited = {name: f"COALESCE(own.{name}, parent.{name}) AS {name}" for name in _LIMITS}
        # The release before this one writes no `minted_with`.
        with_key = "COALESCE(own.minted_with, parent.hash) AS minted_with"
        revoked = (
            "CASE WHEN own.minted_with <> parent.hash THEN own.created_at"
            " ELSE COALESCE(own.revoked_at, parent.revoked_at) END AS revoked_at"
        )
        columns = ", ".join((own | inherited | {"minted_with": with_key, "revoked_at": revoked}).values())
        rows = await self._execute(
            f"SELECT {columns} FROM svc_keys AS own LEFT JOIN svc_keys AS parent ON parent.id = own.minted_by"
            " WHERE own.hash = $1",
            digest,
        )
        return _to_stored_key(rows[0]) if rows else None

    async def consume(self, digest: str, now: float) -> bool:
        """Marks a single-use token as used; returns True to exactly one of any number of concurrent callers."""
        sql = "UPDATE svc_keys SET consumed_at = $2 WHERE hash = $1 AND consumed_at IS NULL RETURNING id"
        return bool(await self._execute(sql, digest, int(now)))

    async def list_keys(self) -> list[StoredKey]:
        """The keys, without tokens, oldest first."""
        sql = f"SELECT {', '.join(_COLUMNS)} FROM svc_keys WHERE kind = $1 ORDER BY created_at, name"
        return [_to_stored_key(row) for row in await self._execute(sql, Kind.KEY)]

    async def revoke(self, key_id: str, now: float) -> None:
        """Revokes a key and the tokens minted with it; the first time is kept."""
        sql = "UPDATE svc_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"
        await self._execute(sql, key_id, int(now))

    async def rotate(self, key_id: str) -> str:
        """Replaces a key by a new one with the same id, and revokes the tokens minted with the old one."""
        credential = generate_credential(Kind.KEY)
        await self._execute(
            "UPDATE svc_keys SET hash = $2, prefix = $3 WHERE id = $1",
            key_id,
            hash_credential(credential),
            visible_prefix(credential),
        )
        await self._execute("DELETE FROM svc_keys WHERE minted_by = $1", key_id)
        return credential

    async def change_limits(self, key_id: str, limits: Mapping[str, int | None]) -> None:
        """Sets some of the limits of a key, by the names of the fields of `KeyLimits`."""
        if unknown := set(limits) - set(_LIMITS):
            raise ValueError(f"not limits of a key: {', '.join(sorted(unknown))}")
        changes = ", ".join(f"{name} = ${number}" for number, name in enumerate(limits, 2))
        await self._execute(f"UPDATE svc_keys SET {changes} WHERE id = $1", key_id, *limits.values())

    async def note_uses(self, uses: Mapping[str, float]) -> None:
        """Writes when keys were last used; a later time that another replica wrote is kept."""
        sql = "UPDATE svc_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"
        for key_id, at in sorted(uses.items()):
            await self._execute(sql, key_id, int(at))

    async def delete_expired_tokens(self, now: float, limit: int) -> int:
        """Deletes at most `limit` expired tokens and returns how many; expired keys stay, for the record."""
        # Replicas that do this at the same time skip each other's rows instead of waiting for them.
        sql = (
            "DELETE FROM svc_keys WHERE id IN"
            " (SELECT id FROM svc_keys WHERE kind IN ($1, $2) AND expires_at <= $3"
            f" LIMIT $4 {self._database.skip_locked}) RETURNING id"
        )
        return len(await self._execute(sql, Kind.EPHEMERAL, Kind.SINGLE_USE, int(now), limit))

    async def _execute(self, sql: str, *values: object) -> Rows:
        try:
            if not self._migrated:
                await self._database.transact(migrate())
                self._migrated = True
            rows = await self._database.execute(sql, *values)
        except KeysUnavailable as error:
            if self._reachable:
                log.error("the keys table is unavailable: %s", error.reason)
            self._reachable = False
            raise
        if not self._reachable:
            log.info("the keys table is available")
        self._reachable = True
        return rows


def _to_stored_key(row: dict[str, Any]) -> StoredKey:
    # Scopes that only a later release knows grant nothing here.
    scopes = frozenset(Scope(each) for each in row["scopes"].split() if each in set(Scope))
    limits = KeyLimits(**{name: row.pop(name) for name in _LIMITS})
    return StoredKey(**{**row, "kind": Kind(row["kind"]), "scopes": scopes, "limits": limits})
