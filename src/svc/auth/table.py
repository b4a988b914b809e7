"""The keys table: the hashes of keys and tokens in a database, shared by all replicas."""

import logging
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, fields

from sqlalchemy import RowMapping, delete, func, insert, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from svc.auth.database import create_engine
from svc.auth.keys import KeyLimits, Kind, Scope, StoredKey, generate_credential, hash_credential, visible_prefix
from svc.auth.schema import KEYS, migrate
from svc.errors import KeysUnavailable

log = logging.getLogger(__name__)

_LIMITS = tuple(field.name for field in fields(KeyLimits))


class KeysTable:
    """Every statement commits by itself; every method raises `KeysUnavailable` if the database fails."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url)
        self._migrated = False
        self._reachable = False

    async def close(self) -> None:
        await self._engine.dispose()

    async def open(self) -> None:
        """Creates or migrates the schema; without it, the first use does so."""
        async with self._connection():
            pass

    async def create(
        self,
        now: float,
        *,
        scopes: Iterable[Scope],
        name: str = "",
        kind: Kind = Kind.KEY,
        expires_at: int | None = None,
        minted_by: str | None = None,
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
            "created_at": int(now),
            "expires_at": expires_at,
            **asdict(limits or KeyLimits()),
        }
        async with self._connection() as connection:
            row = (await connection.execute(insert(KEYS).values(values).returning(KEYS))).mappings().one()
        return credential, _to_stored_key(row)

    async def find(self, digest: str) -> StoredKey | None:
        """The row of a credential; a token whose key was revoked is revoked too, and it has the limits of that key."""
        parent = KEYS.alias()
        inherited = ("revoked_at", *_LIMITS)
        own = [column for column in KEYS.c if column.name not in inherited]
        shared = [func.coalesce(KEYS.c[name], parent.c[name]).label(name) for name in inherited]
        query = select(*own, *shared).outerjoin(parent, parent.c.id == KEYS.c.minted_by).where(KEYS.c.hash == digest)
        async with self._connection() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return _to_stored_key(row) if row else None

    async def find_digest(self, key_id: str) -> str | None:
        """The hash of a key by its id; None for a static key, which has no row."""
        async with self._connection() as connection:
            digest: str | None = (await connection.execute(select(KEYS.c.hash).where(KEYS.c.id == key_id))).scalar()
        return digest

    async def consume(self, digest: str, now: float) -> bool:
        """Marks a single-use token as used; returns True to exactly one of any number of concurrent callers."""
        statement = (
            update(KEYS)
            .where(KEYS.c.hash == digest, KEYS.c.consumed_at.is_(None))
            .values(consumed_at=int(now))
            .returning(KEYS.c.id)
        )
        async with self._connection() as connection:
            return (await connection.execute(statement)).one_or_none() is not None

    async def list_keys(self) -> list[StoredKey]:
        """The keys, without tokens, oldest first."""
        query = select(KEYS).where(KEYS.c.kind == Kind.KEY).order_by(KEYS.c.created_at, KEYS.c.name)
        async with self._connection() as connection:
            return [_to_stored_key(row) for row in (await connection.execute(query)).mappings()]

    async def revoke(self, key_id: str, now: float) -> None:
        """Revokes a key and the tokens minted with it; the first time is kept."""
        statement = update(KEYS).where(KEYS.c.id == key_id, KEYS.c.revoked_at.is_(None)).values(revoked_at=int(now))
        async with self._connection() as connection:
            await connection.execute(statement)

    async def rotate(self, key_id: str) -> str:
        """Replaces a key by a new one with the same id, and revokes the tokens minted with the old one."""
        credential = generate_credential(Kind.KEY)
        values = {"hash": hash_credential(credential), "prefix": visible_prefix(credential)}
        async with self._connection() as connection:
            await connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(values))
            await connection.execute(delete(KEYS).where(KEYS.c.minted_by == key_id))
        return credential

    async def change_limits(self, key_id: str, limits: Mapping[str, int | None]) -> None:
        """Sets some of the limits of a key, by the names of the fields of `KeyLimits`."""
        if unknown := set(limits) - set(_LIMITS):
            raise ValueError(f"not limits of a key: {', '.join(sorted(unknown))}")
        async with self._connection() as connection:
            await connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(**limits))

    async def note_uses(self, uses: Mapping[str, float]) -> None:
        """Writes when keys were last used; a later time that another replica wrote is kept."""
        async with self._connection() as connection:
            for key_id, at in sorted(uses.items()):
                await connection.execute(
                    update(KEYS)
                    .where(KEYS.c.id == key_id, or_(KEYS.c.last_used_at.is_(None), KEYS.c.last_used_at < int(at)))
                    .values(last_used_at=int(at))
                )

    async def delete_expired_tokens(self, now: float, limit: int) -> int:
        """Deletes at most `limit` expired tokens and returns how many; expired keys stay, for the record."""
        # Replicas that do this at the same time skip each other's rows instead of waiting for them.
        expired = (
            select(KEYS.c.id)
            .where(KEYS.c.kind.in_((Kind.EPHEMERAL, Kind.SINGLE_USE)), KEYS.c.expires_at <= int(now))
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        async with self._connection() as connection:
            result = await connection.execute(delete(KEYS).where(KEYS.c.id.in_(expired)))
            return result.rowcount

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._engine.connect() as connection:
                if not self._migrated:
                    await migrate(connection)
                    self._migrated = True
                yield connection
        except (SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error) or type(error).__name__
            if self._reachable:
                log.error("the keys table is unavailable: %s", reason)
            self._reachable = False
            raise KeysUnavailable(reason) from error
        if not self._reachable:
            log.info("the keys table is available")
        self._reachable = True


def _to_stored_key(row: RowMapping) -> StoredKey:
    values = {field.name: row[field.name] for field in fields(StoredKey) if field.name != "limits"}
    # Scopes that only a later release knows grant nothing here.
    scopes = frozenset(Scope(each) for each in values["scopes"].split() if each in set(Scope))
    limits = KeyLimits(**{name: row[name] for name in _LIMITS})
    return StoredKey(**{**values, "kind": Kind(values["kind"]), "scopes": scopes, "limits": limits})
