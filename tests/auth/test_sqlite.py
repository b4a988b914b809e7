"""The keys table in a SQLite file."""

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from svc.auth import sqlite
from svc.auth.keys import Scope, hash_credential
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable
from tests.auth.tables import NOW, open_tables


def test_opening_waits_for_a_busy_file(tmp_path: Path) -> None:
    """SQLite's first switch to a write-ahead log does not wait by itself."""

    async def main() -> None:
        with closing(sqlite3.connect(tmp_path / "keys.db", isolation_level=None)) as busy:
            busy.execute("BEGIN IMMEDIATE")
            async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
                opening = asyncio.create_task(table.open())
                await asyncio.sleep(0.3)
                assert not opening.done()
                busy.execute("COMMIT")
                await asyncio.wait_for(opening, 60)

    asyncio.run(main())


def test_sqlite_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    KeysTable(f"sqlite:///{tmp_path}/keys.db")
    assert stat.S_IMODE((tmp_path / "keys.db").stat().st_mode) == 0o600


def test_sqlite_file_in_a_missing_folder_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot be opened: .*missing/keys\.db: No such file or directory"):
        KeysTable(f"sqlite:///{tmp_path}/missing/keys.db")


def test_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "keys.db").write_bytes(b"Dear diary, " * 1000)

    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            with pytest.raises(KeysUnavailable) as error:
                await table.find(hash_credential("x"))
            assert error.value.reason == "file is not a database"

    asyncio.run(main())


def test_database_that_another_program_has_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "TIMEOUT", 0.5)

    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            await table.open()
            other = sqlite3.connect(tmp_path / "keys.db")
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(KeysUnavailable) as error:
                await table.create(NOW, scopes=[Scope.FULL])
            assert error.value.reason == "database is locked"
            other.rollback()
            other.close()
            await table.create(NOW, scopes=[Scope.FULL])

    asyncio.run(main())


def test_caller_waits_for_a_turn_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "TIMEOUT", 0.5)

    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            await table.open()
            with closing(sqlite3.connect(tmp_path / "keys.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                callers = (table.create(NOW, scopes=[Scope.FULL]) for _ in range(20))
                errors = await asyncio.gather(*callers, return_exceptions=True)
            reasons = [error.reason for error in errors if isinstance(error, KeysUnavailable)]
            assert len(reasons) == 20
            assert reasons[0] == "database is locked"
            assert reasons.count("database is busy for more than 0.5 seconds") >= 17

    asyncio.run(main())


def test_cancelled_callers_leave_the_connection_usable(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            await table.open()
            with closing(sqlite3.connect(tmp_path / "keys.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                callers = [asyncio.create_task(table.create(NOW, name="x", scopes=[Scope.FULL])) for _ in range(5)]
                await asyncio.sleep(0.1)  # the first waits for the file, the others for the first
                for caller in callers:
                    caller.cancel()
                await asyncio.wait(callers)
                assert all(caller.cancelled() for caller in callers)
                other.execute("COMMIT")
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            assert await table.find(hash_credential(credential))
            assert len(await table.list_keys()) <= 2, "the first may have been written, the others were not begun"

    asyncio.run(main())


def test_cancelled_migration_is_finished_or_not_begun(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            with closing(sqlite3.connect(tmp_path / "keys.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                opening = asyncio.create_task(table.open())
                await asyncio.sleep(0.1)
                opening.cancel()
                await asyncio.wait([opening])
                other.execute("COMMIT")
            await table.create(NOW, scopes=[Scope.FULL])
            assert len(await table.list_keys()) == 1

    asyncio.run(main())


def test_replaced_file_is_noticed_when_it_is_reopened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_REOPEN_SECONDS", 0)

    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/backup.db") as (backup,):
            await backup.create(NOW, name="from the backup", scopes=[Scope.FULL])
        async with open_tables(f"sqlite:///{tmp_path}/keys.db") as (table,):
            await table.create(NOW, name="lost", scopes=[Scope.FULL])
            (tmp_path / "keys.db-wal").unlink()
            (tmp_path / "keys.db-shm").unlink()
            (tmp_path / "backup.db").replace(tmp_path / "keys.db")
            assert [key.name for key in await table.list_keys()] == ["from the backup"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("my keys.db", "my keys.db"),
        ("my%20keys%3F.db", "my keys?.db"),
        ("100%25.db", "100%.db"),
        ("keys.db?mode=ro", "keys.db"),
    ],
)
def test_path_may_be_percent_encoded(written: str, name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_tables(f"sqlite:///{tmp_path}/{written}") as (table,):
            await table.create(NOW, scopes=[Scope.FULL])

    asyncio.run(main())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_relative_path_is_that_of_the_first_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    table = KeysTable("sqlite:///keys.db")
    monkeypatch.chdir(tmp_path / "elsewhere")

    async def main() -> None:
        await table.create(NOW, scopes=[Scope.FULL])
        await table.close()

    asyncio.run(main())
    assert not list((tmp_path / "elsewhere").iterdir())


def test_sqlite_without_returning_is_an_error_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(OSError, match=r"needs SQLite 3\.35"):
        KeysTable(f"sqlite:///{tmp_path}/keys.db")
