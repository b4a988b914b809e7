"""The keys table in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import asyncpg  # type: ignore[import-untyped]

from svc.auth.database import TIMEOUT, Rows, Script
from svc.errors import KeysUnavailable

_MAX_CONNECTIONS = 5
_MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(7311402958)"
_DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class PostgreSQL:
    """Up to five connections, which are kept, and checked before each use: one may have died while it was idle.

    asyncpg's own pool has no such check: it only knows what was closed properly.
    """

    skip_locked = "FOR UPDATE SKIP LOCKED"

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool = _create_pool()

    async def execute(self, sql: str, *values: object) -> Rows:
        async with self._connection() as connection:
            return await _execute(connection, sql, *values)

    async def transact(self, script: Script) -> None:
        async with self._connection() as connection:
            await connection.execute("BEGIN")
            await connection.execute(_MIGRATION_LOCK)
            with suppress(StopIteration):
                statement = next(script)
                while True:
                    statement = script.send(await _execute(connection, statement))
            await connection.execute("COMMIT")

    async def close(self) -> None:
        pool, self._pool = self._pool, _create_pool()
        while not pool.empty():
            if connection := pool.get_nowait():
                with suppress(OSError, *_DRIVER_ERRORS):
                    await connection.close(timeout=TIMEOUT)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        pool = self._pool
        with _describe_failures():
            async with asyncio.timeout(TIMEOUT):
                connection = await pool.get()
            try:
                if connection and not await _is_alive(connection):
                    connection.terminate()
                    connection = None
                if connection is None:
                    connection = await self._connect()
                yield connection
            except BaseException:  # also when the caller is cancelled
                if connection:
                    connection.terminate()  # which ends its transaction
                    connection = None
                raise
            finally:
                pool.put_nowait(connection)

    async def _connect(self) -> asyncpg.Connection:
        try:
            # asyncpg parses the URL itself, so that all of libpq's options (sslmode, host, …) work. Statements are not
            # cached, because PgBouncer may send the next one to another server.
            return await asyncpg.connect(self._url, timeout=TIMEOUT, command_timeout=TIMEOUT, statement_cache_size=0)
        except ValueError:  # its message quotes parts of the URL, which may contain a password
            message = "its URL cannot be parsed; are the special characters in the password %-encoded?"
            raise ConnectionError(message) from None


def _create_pool() -> asyncio.LifoQueue[asyncpg.Connection | None]:
    """Places for connections; None is one where no connection is open."""
    pool = asyncio.LifoQueue[asyncpg.Connection | None]()
    for _ in range(_MAX_CONNECTIONS):
        pool.put_nowait(None)
    return pool


async def _is_alive(connection: asyncpg.Connection) -> bool:
    try:
        await connection.execute("SELECT 1")
        return True
    except (OSError, *_DRIVER_ERRORS):
        return False


async def _execute(connection: asyncpg.Connection, sql: str, *values: object) -> Rows:
    return [dict(row) for row in await connection.fetch(sql, *values)]


@contextmanager
def _describe_failures() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise KeysUnavailable(f"database has not answered for {TIMEOUT} seconds") from None
    except OSError as error:
        raise KeysUnavailable(str(error) or type(error).__name__) from error
    except _DRIVER_ERRORS as error:  # without its details, which quote the values of a row
        raise KeysUnavailable(str(error.args[0])) from None
