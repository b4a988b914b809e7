"""The database of the keys table, SQLite or PostgreSQL: what both can do."""

from collections.abc import Generator
from typing import Any, Protocol
from urllib.parse import unquote

Rows = list[dict[str, Any]]

Script = Generator[str, Rows, None]
"""Statements for one transaction: each is yielded, and gets its rows."""

TIMEOUT = 3
"""Seconds: for a connection, for a turn on one, and for an answer."""

_SQLITE = "sqlite:///"


class Database(Protocol):
    """Runs SQL that both databases understand. Failures are `KeysUnavailable`, whose reason shows no value or password.

    It connects when it is used, also after it was closed.
    """

    skip_locked: str
    """The end of a SELECT that leaves out the rows that other statements change at the moment."""

    async def execute(self, sql: str, *values: object) -> Rows:
        """Runs one statement, which commits by itself; `$1` stands for the first value."""

    async def transact(self, script: Script) -> None:
        """Runs a script in one transaction, while no other replica does so."""

    async def close(self) -> None: ...


def create_database(url: str) -> Database:
    """The database of a URL that the settings have normalised. asyncpg takes longer to import than many commands."""
    if url.startswith(_SQLITE):
        from svc.auth.sqlite import SQLite

        path, _, _ = url.removeprefix(_SQLITE).partition("?")  # it takes no options
        return SQLite(unquote(path))
    from svc.auth.postgresql import PostgreSQL

    return PostgreSQL(url)
