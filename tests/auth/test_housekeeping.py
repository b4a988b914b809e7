"""Tidying up beside the requests."""

import asyncio

import pytest

from svc.auth import housekeeping
from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import ANYONE, Kind, Scope, digest
from svc.auth.table import KeysTable
from svc.auth.tokens import Tokens
from svc.errors import KeysUnavailable
from tests.auth.clock import Clock


def test_expired_tokens_go_by_themselves(url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "_INTERVAL", 0.01)
    monkeypatch.setattr(housekeeping, "_BATCH", 2)

    async def main() -> None:
        table = KeysTable(url)
        async with Housekeeping(table, clock).running():
            made = [await table.create(clock(), kind=Kind.EPHEMERAL, scopes=[], expires_at=9) for _ in range(7)]
            for token, _ in made:
                while await table.find(digest(token)):
                    pass

    asyncio.run(main())


def test_minting_removes_more_than_it_adds(url: str, clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable(url)
        tokens = Tokens(table, clock)
        first, _ = await tokens.ephemeral(ANYONE, 30)
        second = await tokens.single_use(ANYONE)
        clock.now += 15 * 60
        third, _ = await tokens.ephemeral(ANYONE, 30)
        found = [await table.find(digest(token)) for token in (first, second, third)]
        assert [bool(each) for each in found] == [False, False, True]
        await table.close()

    asyncio.run(main())


def test_uses_are_written_at_the_end(url: str, clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable(url)
        _, key = await table.create(clock(), name="Ann", scopes=[Scope.FULL])
        keeping = Housekeeping(table, clock)
        async with keeping.running():
            keeping.note_use(key.id)
        assert [each.last_used_at for each in await table.keys()] == [int(clock())]
        await table.close()

    asyncio.run(main())


def test_without_a_table_there_is_nothing_to_do(clock: Clock) -> None:
    async def main() -> None:
        async with Housekeeping(None, clock).running():
            pass

    asyncio.run(main())


def test_a_service_starts_while_the_database_is_down(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        table = KeysTable("postgresql://u:hidden@127.0.0.1:1/d")
        async with Housekeeping(table, clock).running():
            with pytest.raises(KeysUnavailable):
                await table.find("x")

    asyncio.run(main())
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the keys table does not answer" in caplog.text
    assert "hidden" not in caplog.text
