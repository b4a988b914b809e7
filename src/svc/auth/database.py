"""Connections to the database of the keys table, SQLite or PostgreSQL."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # SQLAlchemy is slow to import, and the settings need this module: it is imported only for a table
    from sqlalchemy.ext.asyncio import AsyncEngine

_SQLITE = "sqlite:///"
_SCHEMES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}
_TIMEOUT = 3  # seconds for the database to answer
# hide_parameters: errors are logged, and hashes must not be.
_ENGINE_OPTIONS: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}


def normalise_url(url: str) -> str:
    """The URL with a plain scheme; raises ValueError, without quoting the URL: it may contain a password."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = _SCHEMES.get(scheme.lower().partition("+")[0], "")  # without the driver, which svc chooses
    plain = f"{scheme}{separator}{rest}"
    if scheme == "postgresql" and rest:
        return plain
    if plain.startswith(_SQLITE) and plain.removeprefix(_SQLITE).strip("/") not in ("", ":memory:"):
        return plain
    raise ValueError("not a database that can hold keys: use sqlite:///keys.db or postgresql://user:password@host/name")


def create_engine(url: str) -> "AsyncEngine":
    """A connection pool on which every statement commits by itself."""
    url = normalise_url(url)
    return _create_postgresql(url) if url.startswith("postgresql:") else _create_sqlite(url)


def _create_postgresql(url: str) -> "AsyncEngine":
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

    async def connect() -> asyncpg.Connection:
        try:
            # asyncpg parses the URL itself, so that all of libpq's options (sslmode, host, …) work.
            return await asyncpg.connect(url, timeout=_TIMEOUT, command_timeout=_TIMEOUT)
        except ValueError:  # its message quotes parts of the URL, which may contain a password
            message = "its URL cannot be parsed; are the special characters in the password %-encoded?"
            raise ConnectionError(message) from None
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise ConnectionError(str(error)) from error

    return create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True, pool_timeout=_TIMEOUT, **_ENGINE_OPTIONS
    )


def _create_sqlite(url: str) -> "AsyncEngine":
    from sqlalchemy import make_url
    from sqlalchemy.ext.asyncio import create_async_engine

    path = make_url(url).database
    assert path is not None
    try:
        # Readable and writable by its owner only: whoever can write to the file can add a key.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OSError(f"The keys table cannot be opened: {path}: {error.strerror}.") from error
    # One connection, for which callers queue: SQLite allows one writer at a time, and its own waiting is not fair.
    # It is reopened every minute, so that a replaced file is noticed.
    return create_async_engine(
        url.replace("sqlite:", "sqlite+aiosqlite:", 1),
        pool_size=1,
        max_overflow=0,
        pool_timeout=_TIMEOUT,
        pool_recycle=60,
        connect_args={"timeout": _TIMEOUT},
        **_ENGINE_OPTIONS,
    )
