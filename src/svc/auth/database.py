"""How the database of the keys table is reached."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # SQLAlchemy takes its time to load: whoever has no table need not wait for it
    from sqlalchemy.ext.asyncio import AsyncEngine


_SQLITE = "sqlite:///"
_SCHEMES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}


def normalised(url: str) -> str:
    """The URL with a plain scheme; a ValueError that repeats nothing of it, for it may hold a password."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = _SCHEMES.get(scheme.lower().partition("+")[0], "")  # which driver is our own affair
    plain = f"{scheme}{separator}{rest}"
    if scheme == "postgresql" and rest:
        return plain
    if plain.startswith(_SQLITE) and plain.removeprefix(_SQLITE).strip("/") not in ("", ":memory:"):
        return plain
    raise ValueError("not a database that can hold keys: use sqlite:///keys.db or postgresql://user:password@host/name")


_TIMEOUT = 3  # seconds for the database to answer, before callers are told that it does not


def engine(url: str) -> "AsyncEngine":
    """Connections that commit by themselves, statement for statement."""
    url = normalised(url)
    return _postgresql(url) if url.startswith("postgresql:") else _sqlite(url)


# hide_parameters: errors reach the log, and hashes must not.
_COMMON: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}


def _postgresql(url: str) -> "AsyncEngine":
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

    async def connect() -> asyncpg.Connection:
        try:
            # asyncpg reads the address itself, so that all of libpq's options (sslmode, host, …) work.
            return await asyncpg.connect(url, timeout=_TIMEOUT, command_timeout=_TIMEOUT)
        except ValueError:  # it repeats parts of the address, where a password may be
            raise ConnectionError("its address cannot be read; are all marks in the password %-encoded?") from None
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise ConnectionError(str(error)) from error

    return create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True, pool_timeout=_TIMEOUT, **_COMMON
    )


def _sqlite(url: str) -> "AsyncEngine":
    from sqlalchemy import make_url
    from sqlalchemy.ext.asyncio import create_async_engine

    path = make_url(url).database
    assert path is not None
    try:
        # Who can write to the file can let themselves in: it is for its owner alone.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OSError(f"The keys table cannot be opened: {path}: {error.strerror}.") from error
    # One connection, for which callers queue: SQLite lets one write at a time, and its own waiting is not fair.
    # It is opened anew every minute, so that a file that was put in the place of another is noticed.
    return create_async_engine(
        url.replace("sqlite:", "sqlite+aiosqlite:", 1),
        pool_size=1,
        max_overflow=0,
        pool_timeout=_TIMEOUT,
        pool_recycle=60,
        connect_args={"timeout": _TIMEOUT},
        **_COMMON,
    )
