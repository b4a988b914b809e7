"""The keys table, on both kinds of database."""

import asyncio
import traceback
from dataclasses import asdict, fields

import pytest

from svc.auth import schema, sqlite
from svc.auth import table as keys_table
from svc.auth.keys import KeyLimits, Kind, Scope, hash_credential, visible_prefix
from svc.auth.schema import MIGRATIONS
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable
from tests.auth.tables import NOW, open_tables


async def list_columns(table: KeysTable) -> dict[str, str]:
    rows = await table._database.execute(
        """SELECT name, CASE "notnull" WHEN 1 THEN 'required' ELSE 'optional' END AS need
        FROM pragma_table_info('svc_keys')"""
        if isinstance(table._database, sqlite.SQLite)
        else """SELECT column_name AS name, CASE is_nullable WHEN 'NO' THEN 'required' ELSE 'optional' END AS need
        FROM information_schema.columns WHERE table_name = 'svc_keys'"""
    )
    return {row["name"]: row["need"] for row in rows}


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
            rows = await table._database.execute("SELECT * FROM svc_keys")
            assert hash_credential(credential) in str(rows)
            assert secret not in str(rows)
            assert secret not in repr(stored)
            assert hash_credential(credential) not in repr(stored)

    asyncio.run(main())


def test_replicas_that_start_together_migrate_once(url: str) -> None:
    async def main() -> None:
        async with open_tables(url, 8) as tables:
            await asyncio.gather(*(table.open() for table in tables))
            rows = await tables[0]._database.execute("SELECT version FROM svc_schema ORDER BY 1")
            assert [row["version"] for row in rows] == list(range(1, len(MIGRATIONS) + 1))
            assert await list_columns(tables[0]) == {
                **dict.fromkeys(("id", "hash", "kind", "prefix", "name", "scopes", "created_at"), "required"),
                **dict.fromkeys(("minted_by", "expires_at", "revoked_at", "consumed_at", "last_used_at"), "optional"),
                **dict.fromkeys((field.name for field in fields(KeyLimits)), "optional"),
                "minted_with": "optional",
            }

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
            assert await table._database.execute("SELECT shade FROM svc_keys") == [{"shade": "red"}]
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


def test_a_token_ends_with_the_key_that_it_was_minted_with(url: str) -> None:
    """Also one that a replica mints with the old key after the rotation, which it has not noticed yet."""

    async def main() -> None:
        async with open_tables(url, 2) as (one, other):
            key, stored = await one.create(NOW, name="Ann", scopes=[Scope.FULL])

            async def mint(minted_with: str | None) -> str:
                token, _ = await other.create(
                    NOW, kind=Kind.EPHEMERAL, scopes=[Scope.TTS], minted_by=stored.id, minted_with=minted_with
                )
                return token

            before = await mint(hash_credential(key))
            found = await one.find(hash_credential(before))
            assert found is not None
            assert found.is_valid(NOW)
            assert found.minted_with == hash_credential(key)
            new = await one.rotate(stored.id)
            assert await other.find(hash_credential(before)) is None
            for minted_with, is_valid in (
                (hash_credential(key), False),
                (hash_credential(new), True),
                (None, True),  # by the release before
            ):
                found = await one.find(hash_credential(await mint(minted_with)))
                assert found is not None
                assert found.is_valid(NOW) is is_valid
            await one.revoke(stored.id, NOW)
            found = await one.find(hash_credential(await mint(hash_credential(new))))
            assert found is not None
            assert not found.is_valid(NOW)

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
            assert await table._database.execute("SELECT COUNT(*) AS remaining FROM svc_keys") == [{"remaining": 3}]

    asyncio.run(main())


def test_scope_of_a_later_release_grants_nothing(url: str) -> None:
    async def main() -> None:
        async with open_tables(url) as (table,):
            credential, _ = await table.create(NOW, scopes=[Scope.TTS])
            await table._database.execute("UPDATE svc_keys SET scopes = 'tts everything'")
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
        statement = f"INSERT INTO svc_keys ({columns}) VALUES ({values.format(name)}) RETURNING {columns}"
        (row,) = await table._database.execute(statement)
        assert row["id"] == name

    async def main() -> None:
        monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        async with open_tables(url) as (older,):
            await older.open()
            await insert_as_before(older, "old")
            monkeypatch.undo()
            async with open_tables(url) as (newer,):
                await newer.open()
                await newer.change_limits("old", {"max_sockets": 1, "max_voices": 2, "max_dictionaries": 3})
                changed = await newer.find("old")
                assert changed is not None
                assert changed.limits == KeyLimits(max_sockets=1, max_voices=2, max_dictionaries=3)
                await newer.change_limits("old", dict.fromkeys(asdict(KeyLimits())))
                await insert_as_before(older, "new")
                for name in ("old", "new"):
                    found = await newer.find(name)
                    assert found is not None
                    assert found.limits == KeyLimits()

    asyncio.run(main())


def test_error_does_not_show_the_hash(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL quotes the values of the row that it refuses."""

    async def main() -> None:
        async with open_tables(url) as (table,):
            credential, _ = await table.create(NOW, scopes=[Scope.FULL])
            monkeypatch.setattr(keys_table, "generate_credential", lambda kind: credential)
            with pytest.raises(KeysUnavailable) as error:
                await table.create(NOW, scopes=[Scope.FULL])
            assert "unique" in error.value.reason.lower()
            shown = error.value.reason + "".join(traceback.format_exception(error.value)) + caplog.text
            assert hash_credential(credential) not in shown
            assert await table.find(hash_credential(credential))

    asyncio.run(main())


def test_table_can_be_used_after_it_was_closed_and_in_another_event_loop(url: str) -> None:
    table = KeysTable(url)

    async def main() -> None:
        credentials = await asyncio.gather(*(table.create(NOW, scopes=[Scope.FULL]) for _ in range(20)))
        await table.close()
        await table.close()
        for credential, _ in credentials:
            assert await table.find(hash_credential(credential))
        await table.close()

    asyncio.run(main())
    asyncio.run(main())
