"""The keys table in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

import asyncpg  # type: ignore[import-untyped]
import pytest

from svc.auth import postgresql
from svc.auth.keys import Scope, hash_credential
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable
from tests.auth.tables import NOW, open_tables

OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Another program's connection to the same database."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def find_at_once(table: KeysTable, digest: str, count: int) -> None:
    assert all(await asyncio.gather(*(table.find(digest) for _ in range(count))))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://u:hidden@127.0.0.1:1/d", "Connect call failed"),
        ("postgresql://u:hid/den@127.0.0.1/d", "URL cannot be parsed"),
        ("postgresql://u:hidden@127.0.0.1:hidden/d", "URL cannot be parsed"),
    ],
)
def test_unreachable_server(url: str, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with open_tables(url) as (table,):
            with pytest.raises(KeysUnavailable) as error:
                await table.find(hash_credential("x"))
            assert reason in error.value.reason
            assert "hid" not in error.value.reason + str(error.value) + repr(error.value)

    asyncio.run(main())
    assert "hid" not in caplog.text


def test_missing_postgresql_database(postgres_url: str) -> None:
    async def main() -> None:
        async with open_tables(postgres_url.replace("test_", "no_test_")) as (table,):
            with pytest.raises(KeysUnavailable) as error:
                await table.open()
            assert "does not exist" in error.value.reason

    asyncio.run(main())


def test_connections_are_few_and_kept(postgres_url: str) -> None:
    async def main() -> None:
        async with open_tables(postgres_url) as (table,), connect(postgres_url) as other:
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            await find_at_once(table, hash_credential(credential), 60)
            assert await other.fetchval(f"SELECT COUNT(*) {OTHERS}") == 5

    asyncio.run(main())


def test_connections_that_died_while_idle_are_replaced(postgres_url: str) -> None:
    async def main() -> None:
        async with open_tables(postgres_url) as (table,), connect(postgres_url) as other:
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            await find_at_once(table, hash_credential(credential), 5)
            assert len(await other.fetch(f"SELECT pg_terminate_backend(pid) {OTHERS}")) == 5
            await find_at_once(table, hash_credential(credential), 5)

    asyncio.run(main())


def test_connection_that_a_firewall_forgot_is_replaced(postgres_url: str) -> None:
    """Nothing is sent or received any more, and nobody closes it."""
    forgotten = asyncio.Event()
    tasks = set[asyncio.Task[None]]()
    server_socket = Path(parse_qs(urlsplit(postgres_url).query)["host"][0]) / ".s.PGSQL.5432"

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, forgettable: bool) -> None:
        with closing(writer):
            while data := await reader.read(65_536):
                if forgettable and forgotten.is_set():
                    await asyncio.Event().wait()
                writer.write(data)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(server_socket)
        forgettable = not forgotten.is_set()
        tasks.add(asyncio.create_task(copy(reader, server_writer, forgettable)))
        tasks.add(asyncio.create_task(copy(server_reader, writer, forgettable)))

    async def main() -> None:
        with TemporaryDirectory(prefix="svc-pg-") as folder:
            url = postgres_url.replace(str(server_socket.parent), folder)
            async with await asyncio.start_unix_server(forward, Path(folder) / server_socket.name):
                async with open_tables(url) as (table,):
                    credential, _ = await table.create(NOW, scopes=[Scope.FULL])
                    forgotten.set()
                    assert await table.find(hash_credential(credential))
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

    asyncio.run(main())


def test_cancelled_callers_leave_the_connections_usable(postgres_url: str) -> None:
    async def main() -> None:
        async with open_tables(postgres_url) as (table,), connect(postgres_url) as other:
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            await find_at_once(table, hash_credential(credential), 5)
            async with other.transaction():
                await other.execute("LOCK TABLE svc_keys IN ACCESS EXCLUSIVE MODE")
                callers = [asyncio.create_task(table.find(hash_credential(credential))) for _ in range(8)]
                await asyncio.sleep(0.2)  # five wait for the table, the others for one of them
                for caller in callers:
                    caller.cancel()
                await asyncio.wait(callers)
                assert all(caller.cancelled() for caller in callers)
            await find_at_once(table, hash_credential(credential), 20)

    asyncio.run(main())


def test_statement_that_takes_too_long(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with open_tables(postgres_url) as (table,), connect(postgres_url) as other:
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            await table.close()
            async with other.transaction():
                await other.execute("LOCK TABLE svc_keys IN ACCESS EXCLUSIVE MODE")
                monkeypatch.setattr(postgresql, "TIMEOUT", 1)
                callers = (table.find(hash_credential(credential)) for _ in range(8))
                errors = await asyncio.gather(*callers, return_exceptions=True)
                monkeypatch.undo()
            reasons = [error.reason for error in errors if isinstance(error, KeysUnavailable)]
            assert reasons == ["database has not answered for 1 seconds"] * 8
            await find_at_once(table, hash_credential(credential), 20)

    asyncio.run(main())
