"""The keys table in a SQLite file."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from svc.auth.database import TIMEOUT, Rows, Script
from svc.errors import KeysUnavailable

T = TypeVar("T")

_OLDEST = (3, 35)  # the first with RETURNING
_REOPEN_SECONDS = 60
_WAL_ATTEMPTS, _WAL_RETRY_SECONDS = 40, 0.05


class SQLite:
    """One connection on a thread of its own, for which callers queue: SQLite allows one writer at a time, and its own
    waiting is not fair. What has begun is finished there, also if its caller is cancelled.
    """

    skip_locked = ""  # nobody else writes at the same time

    def __init__(self, path: str) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise OSError(f"The keys table needs SQLite 3.35 or newer; this Python has {sqlite3.sqlite_version}.")
        self._path = Path(path).absolute()
        try:
            # Readable and writable by its owner only: whoever can write to the file can add a key.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise OSError(f"The keys table cannot be opened: {path}: {error.strerror}.") from error
        self._thread = ThreadPoolExecutor(1, "keys-table")
        self._connection: sqlite3.Connection | None = None
        self._reopen_at = 0.0

    async def execute(self, sql: str, *values: object) -> Rows:
        return await self._take_turn(lambda: _execute(self._connect(), sql, *values))

    async def transact(self, script: Script) -> None:
        await self._take_turn(lambda: _transact(self._connect(), script))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)

    async def _take_turn(self, work: Callable[[], T]) -> T:
        latest = time.monotonic() + TIMEOUT

        def work_in_time() -> T:
            if time.monotonic() > latest:
                raise TimeoutError(f"database is busy for more than {TIMEOUT} seconds")
            return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work_in_time)
        except (sqlite3.Error, OSError) as error:
            raise KeysUnavailable(str(error) or type(error).__name__) from error

    def _connect(self) -> sqlite3.Connection:
        """The connection, which is reopened every minute, so that a replaced file is noticed."""
        if time.monotonic() >= self._reopen_at:
            self._disconnect()
        if self._connection is None:
            # Without an isolation level, sqlite3 begins no transactions by itself.
            self._connection = sqlite3.connect(self._path, timeout=TIMEOUT, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            self._reopen_at = time.monotonic() + _REOPEN_SECONDS
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _execute(connection: sqlite3.Connection, sql: str, *values: object) -> Rows:
    named = {str(number): value for number, value in enumerate(values, 1)}  # to SQLite, $1 is a name
    return [dict(row) for row in connection.execute(sql, named).fetchall()]


def _transact(connection: sqlite3.Connection, script: Script) -> None:
    _enable_write_ahead_log(connection)
    connection.execute("BEGIN IMMEDIATE")
    with connection, suppress(StopIteration):  # commits, or rolls back if a statement fails
        statement = next(script)
        while True:
            statement = script.send(_execute(connection, statement))


def _enable_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Lets SQLite read while another connection writes; the mode is stored in the file.

    Unlike other statements, the first switch does not wait for a busy file but fails at once: it is retried here.
    """
    for attempt in range(1, _WAL_ATTEMPTS + 1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _WAL_ATTEMPTS:
                raise
            time.sleep(_WAL_RETRY_SECONDS)
