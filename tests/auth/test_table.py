"""The keys table, on both kinds of database."""

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from svc.auth import database, schema
from svc.auth.keys import KeyLimits, Kind, Scope, hash_credential, visible_prefix
from svc.auth.schema import KEYS, MIGRATIONS
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable

NOW = 1_800_000_000.75


@asynccontextmanager
async def open_tables(url: str, replicas: int = 1) -> AsyncIterator[list[KeysTable]]:
    tables = [KeysTable(url) for _ in range(replicas)]
    try:
        yield tables
    finally:
        for table in tables:
            await table.close()


def test_key_is_found_by_its_hash_on_every_replica(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 2) as (one, other):
            credential, created = await one.create(NOW, name="Ann", scopes=[Scope.FULL], expires_at=1_900_000_000)
            found = await other.find(hash_credential(credential))
            assert found == created
            assert found.scopes == {Scope.FULL}
            assert (found.name, found.kind) == ("Ann", Kind.KEY)
            assert (found.created_at, found.expires_at) == (1_800_000_000, 1_900_000_000)
            assert found.prefix == visible_prefix(credential)
            assert await other.find(hash_credential("unknown")) is None

    asyncio.run(main())


def test_database_does_not_contain_the_credential(url: str) -> None:
    async def main() -> None:
        async with open_tables(url) as (table,):
            credential, stored = await table.create(NOW, name="Ann", scopes=[Scope.TTS])
            secret = credential.removeprefix(stored.prefix)
            async with table._engine.connect() as connection:
                rows = (await connection.execute(text("SELECT * FROM svc_keys"))).all()
            assert hash_credential(credential) in str(rows)
            assert secret not in str(rows)
            assert secret not in repr(stored)
            assert hash_credential(credential) not in repr(stored)

    asyncio.run(main())


def test_replicas_that_start_together_migrate_once(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 8) as tables:
            await asyncio.gather(*(table.open() for table in tables))
            async with tables[0]._engine.connect() as connection:
                versions = (await connection.execute(text("SELECT version FROM svc_schema ORDER BY 1"))).scalars().all()
                columns = await connection.run_sync(lambda sync: inspect(sync).get_columns("svc_keys"))
            assert versions == list(range(1, len(MIGRATIONS) + 1))
            assert [(each["name"], each["nullable"]) for each in columns] == [
                (column.name, bool(column.nullable)) for column in KEYS.columns
            ]

    asyncio.run(main())


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


def test_migrations_are_atomic(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that fails changes nothing; a later one is applied to existing rows."""

    async def main() -> None:
        async with open_tables(url) as (table,):
            credential, _ = await table.create(NOW, name="Ann", scopes=[Scope.FULL])
        step = ("ALTER TABLE svc_keys ADD COLUMN shade VARCHAR", "UPDATE svc_keys SET shade = 'red'")
        monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, (*step, "this is not SQL")))
        async with open_tables(url) as (table,):
            with pytest.raises(KeysUnavailable):
                await table.open()
        monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, step))
        async with open_tables(url) as (table,):
            assert await table.find(hash_credential(credential))
            async with table._engine.connect() as connection:
                assert await connection.scalar(text("SELECT shade FROM svc_keys")) == "red"
        monkeypatch.undo()
        async with open_tables(url) as (older,):  # the release before still works
            assert await older.find(hash_credential(credential))

    asyncio.run(main())


def test_one_of_twenty_concurrent_callers_consumes_a_token(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 4) as tables:
            token, _ = await tables[0].create(NOW, kind=Kind.SINGLE_USE, scopes=[Scope.TTS_WEBSOCKET])
            results = await asyncio.gather(*(tables[n % 4].consume(hash_credential(token), NOW) for n in range(20)))
            assert sorted(results) == [False] * 19 + [True]

    asyncio.run(main())


def test_revoking_a_key_revokes_its_tokens(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 2) as (one, other):
            key, stored = await one.create(NOW, name="Ann", scopes=[Scope.FULL])
            token, _ = await one.create(NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS], minted_by=stored.id)
            foreign, _ = await one.create(NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS], minted_by="static-1")
            await one.revoke(stored.id, NOW)
            await one.revoke(stored.id, NOW + 50)
            for credential, revoked_at in ((key, int(NOW)), (token, int(NOW)), (foreign, None)):
                found = await other.find(hash_credential(credential))
                assert found is not None
                assert found.revoked_at == revoked_at
                assert found.is_valid(NOW) is (revoked_at is None)

    asyncio.run(main())


def test_keys_are_listed_without_tokens(url: str) -> None:
    async def main() -> None:
        async with open_tables(url) as (table,):
            for second, name in enumerate(("Ann", "Bob", "Cid")):
                await table.create(NOW + second, name=name, scopes=[Scope.FULL])
            await table.create(NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS])
            assert [key.name for key in await table.list_keys()] == ["Ann", "Bob", "Cid"]

    asyncio.run(main())


def test_latest_use_is_kept(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 2) as (one, other):
            keys = [(await one.create(NOW, name="x", scopes=[Scope.FULL]))[1].id for _ in range(2)]
            await one.note_uses({keys[0]: NOW + 10, keys[1]: NOW + 10, "gone": NOW})
            await other.note_uses({keys[0]: NOW + 5, keys[1]: NOW + 20})
            await other.note_uses({})
            used = {key.id: key.last_used_at for key in await one.list_keys()}
            assert used == {keys[0]: int(NOW) + 10, keys[1]: int(NOW) + 20}

    asyncio.run(main())


def test_expired_tokens_are_deleted_in_batches_and_keys_are_kept(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 3) as tables:
            table = tables[0]
            past, future = int(NOW) - 1, int(NOW) + 1
            old_key, _ = await table.create(NOW, name="old", scopes=[Scope.FULL], expires_at=past)
            for kind in (Kind.EPHEMERAL, Kind.SINGLE_USE):
                for expires_at in (past, past, int(NOW), future):
                    await table.create(NOW, kind=kind, scopes=[Scope.TTS], expires_at=expires_at)
            assert await table.delete_expired_tokens(NOW, 2) == 2
            counts = await asyncio.gather(*(each.delete_expired_tokens(NOW, 100) for each in tables))
            assert sum(counts) == 4
            assert await table.find(hash_credential(old_key))
            async with table._engine.connect() as connection:
                assert await connection.scalar(text("SELECT COUNT(*) FROM svc_keys")) == 3

    asyncio.run(main())


def test_scope_of_a_later_release_grants_nothing(url: str) -> None:
    async def main() -> None:
        async with open_tables(url) as (table,):
            credential, _ = await table.create(NOW, scopes=[Scope.TTS])
            async with table._engine.connect() as connection:
                await connection.execute(text("UPDATE svc_keys SET scopes = 'tts everything'"))
            found = await table.find(hash_credential(credential))
            assert found is not None
            assert found.scopes == {Scope.TTS}

    asyncio.run(main())


def test_many_concurrent_statements(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 2) as tables:
            created = await asyncio.gather(*(tables[n % 2].create(NOW, scopes=[Scope.TTS]) for n in range(60)))
            found = await asyncio.gather(
                *(tables[n % 2].find(hash_credential(each[0])) for n, each in enumerate(created))
            )
            assert [each.id for each in found if each] == [stored.id for _, stored in created]

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
    monkeypatch.setattr(database, "_TIMEOUT", 0.05)

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


def test_limits_of_a_key_hold_for_its_tokens(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 2) as (one, other):
            key, stored = await one.create(NOW, name="Ann", scopes=[Scope.FULL], limits=KeyLimits(4, 0, 60_000))
            token, _ = await one.create(NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS], minted_by=stored.id)
            foreign, _ = await one.create(NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS], minted_by="static-1")
            for credential, limits in ((key, KeyLimits(4, 0, 60_000)), (token, stored.limits), (foreign, KeyLimits())):
                found = await other.find(hash_credential(credential))
                assert found is not None
                assert found.limits == limits

            await one.change_limits(stored.id, {"max_streams": 9, "max_characters_per_minute": None})
            for credential in (key, token):
                found = await other.find(hash_credential(credential))
                assert found is not None
                assert found.limits == KeyLimits(9, 0, None)
            with pytest.raises(ValueError, match="scopes"):
                await one.change_limits(stored.id, {"scopes": 1})

    asyncio.run(main())


def test_limits_are_added_to_a_table_that_the_release_before_still_uses(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both releases run while one replaces the other."""
    columns = "id, hash, kind, prefix, name, scopes, minted_by, created_at, expires_at"
    values = "'{0}', '{0}', 'key', 'svc_{0}', '{0}', 'full', NULL, 1, NULL"

    async def insert_as_before(table: KeysTable, name: str) -> None:
        async with table._engine.connect() as connection:
            statement = f"INSERT INTO svc_keys ({columns}) VALUES ({values.format(name)}) RETURNING {columns}"
            assert (await connection.execute(text(statement))).one().id == name

    async def main() -> None:
        monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        async with open_tables(url) as (older,):
            await older.open()
            await insert_as_before(older, "old")
            monkeypatch.undo()
            async with open_tables(url) as (newer,):
                await newer.open()
                await insert_as_before(older, "new")
                for name in ("old", "new"):
                    found = await newer.find(name)
                    assert found is not None
                    assert found.limits == KeyLimits()

    asyncio.run(main())
