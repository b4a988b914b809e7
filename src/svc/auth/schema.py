"""The schema of the keys table, and its migrations."""

import asyncio
import sqlite3

from sqlalchemy import BigInteger, Column, MetaData, String, Table, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

KEYS = Table(
    "svc_keys",
    MetaData(),
    Column("id", String, primary_key=True),
    Column("hash", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("prefix", String, nullable=False),
    Column("name", String, nullable=False),
    Column("scopes", String, nullable=False),
    # The key that a token was minted with: an id of this table, or the key_id of a static key.
    Column("minted_by", String),
    # Times are whole seconds since 1970, which both databases store alike.
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("consumed_at", BigInteger),
    Column("last_used_at", BigInteger),
    # The fields of KeyLimits; NULL stands for the default.
    Column("max_streams", BigInteger),
    Column("max_waiting", BigInteger),
    Column("max_characters_per_minute", BigInteger),
)

# Each entry migrates from one version to the next; entries are added, never changed. While a new release replaces an
# old one, both use the same table: a migration may add, but must not remove what the release before it reads.
# For two tables in SQL that both databases understand, a migration framework would add more code than it saves.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE svc_keys (
            id VARCHAR NOT NULL PRIMARY KEY,
            hash VARCHAR NOT NULL UNIQUE,
            kind VARCHAR NOT NULL,
            prefix VARCHAR NOT NULL,
            name VARCHAR NOT NULL,
            scopes VARCHAR NOT NULL,
            minted_by VARCHAR,
            created_at BIGINT NOT NULL,
            expires_at BIGINT,
            revoked_at BIGINT,
            consumed_at BIGINT,
            last_used_at BIGINT
        )
        """,
        "CREATE INDEX svc_keys_expiry ON svc_keys (kind, expires_at)",
    ),
    (
        "ALTER TABLE svc_keys ADD COLUMN max_streams BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_waiting BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_characters_per_minute BIGINT",
    ),
)

# Replicas that start together take turns: the second finds the migrations done.
_LOCK_STATEMENTS = {
    "sqlite": ("BEGIN IMMEDIATE",),
    "postgresql": ("BEGIN", "SELECT pg_advisory_xact_lock(7311402958)"),
}
_WAL_ATTEMPTS, _WAL_RETRY_SECONDS = 40, 0.05


async def migrate(connection: AsyncConnection) -> None:
    """Applies the missing migrations in one transaction, on a connection in autocommit mode."""
    if connection.dialect.name == "sqlite":
        await _enable_write_ahead_log(connection)
    for statement in _LOCK_STATEMENTS[connection.dialect.name]:
        await connection.execute(text(statement))
    try:
        await connection.execute(text("CREATE TABLE IF NOT EXISTS svc_schema (version BIGINT NOT NULL)"))
        done = await connection.scalar(text("SELECT MAX(version) FROM svc_schema")) or 0
        for version, statements in enumerate(MIGRATIONS[done:], done + 1):
            for statement in statements:
                await connection.execute(text(statement))
            await connection.execute(text("INSERT INTO svc_schema (version) VALUES (:version)"), {"version": version})
    except BaseException:
        await connection.execute(text("ROLLBACK"))
        raise
    await connection.execute(text("COMMIT"))


async def _enable_write_ahead_log(connection: AsyncConnection) -> None:
    """Lets SQLite read while another connection writes; the mode is stored in the file.

    Unlike other statements, the first switch does not wait for a busy file but fails at once: it is retried here.
    """
    for attempt in range(1, _WAL_ATTEMPTS + 1):
        try:
            await connection.execute(text("PRAGMA journal_mode = WAL"))
            return
        except OperationalError as error:
            busy = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            if not busy or attempt == _WAL_ATTEMPTS:
                raise
            await asyncio.sleep(_WAL_RETRY_SECONDS)
