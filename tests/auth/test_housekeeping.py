"""Background maintenance of the keys table."""

import asyncio

import pytest

from svc.auth import housekeeping
from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import ANYONE, Kind, Scope, StaticKeys, hash_credential
from svc.auth.table import KeysTable
from svc.auth.tokens import Tokens
from svc.errors import KeysUnavailable
from svc.process.tasks import Supervisor
from tests.auth.clock import Clock


def test_expired_tokens_are_deleted(url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "_INTERVAL", 0.01)
    monkeypatch.setattr(housekeeping, "_BATCH", 2)

    async def main() -> None:
        table = KeysTable(url)
        async with Housekeeping(table, clock).running(Supervisor()):
            created = [await table.create(clock(), kind=Kind.EPHEMERAL, scopes=[], expires_at=9) for _ in range(7)]
            async with asyncio.timeout(60):
                for token, _ in created:
                    while await table.find(hash_credential(token)):
                        pass

    asyncio.run(main())


def test_minting_deletes_more_than_it_adds(url: str, clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable(url)
        tokens = Tokens(StaticKeys([]), table, clock)
        first, _ = await tokens.mint_ephemeral(ANYONE, 30)
        second = await tokens.mint_single_use(ANYONE)
        clock.now += 15 * 60
        third, _ = await tokens.mint_ephemeral(ANYONE, 30)
        found = [await table.find(hash_credential(token)) for token in (first, second, third)]
        assert [bool(each) for each in found] == [False, False, True]
        await table.close()

    asyncio.run(main())


def test_uses_are_written_at_shutdown(url: str, clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable(url)
        _, key = await table.create(clock(), name="Ann", scopes=[Scope.FULL])
        upkeep = Housekeeping(table, clock)
        async with upkeep.running(Supervisor()):
            upkeep.note_use(key.id)
        assert [each.last_used_at for each in await table.list_keys()] == [int(clock())]
        await table.close()

    asyncio.run(main())


def test_runs_without_a_table(clock: Clock) -> None:
    async def main() -> None:
        async with Housekeeping(None, clock).running(Supervisor()):
            pass

    asyncio.run(main())


def test_service_starts_while_the_database_is_unavailable(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        table = KeysTable("postgresql://u:hidden@127.0.0.1:1/d")
        async with Housekeeping(table, clock).running(Supervisor()):
            with pytest.raises(KeysUnavailable):
                await table.find("x")

    asyncio.run(main())
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the keys table is unavailable" in caplog.text
    assert "hidden" not in caplog.text
