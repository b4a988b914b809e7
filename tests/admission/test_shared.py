"""Limits that several servers share through a real Redis, and what holds while it is unavailable."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from svc.admission.rates import LocalRates
from svc.admission.shared import Lease, SharedLimits
from svc.process.tasks import Supervisor
from svc.settings import Settings
from tests.admission.redis_server import RedisServer

_LEASE_SECONDS = 3.0
_PATIENCE = 60


@asynccontextmanager
async def servers(url: str | None, number: int = 2, patience: float = 10) -> AsyncIterator[list[SharedLimits]]:
    """Servers that are patient with Redis, which may be slow on a busy machine."""
    async with AsyncExitStack() as stack:
        limits = [SharedLimits(url, lease_seconds=_LEASE_SECONDS, timeout=patience) for _ in range(number)]
        for each in limits:
            await stack.enter_async_context(each.running(Supervisor()))
        yield limits


async def acquire(limits: SharedLimits, key_id: str = "ann", max_streams: int = 2) -> Lease:
    lease = await limits.acquire(key_id, max_streams)
    assert lease is not None
    return lease


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not await condition():  # noqa: ASYNC110 (what it waits for happens elsewhere)
            await asyncio.sleep(0.1)


async def wait_until_available(*servers: SharedLimits) -> None:
    async def all_available() -> bool:
        return all(each.available for each in servers)

    await wait_until(all_available)


async def can_acquire(limits: SharedLimits, max_streams: int) -> bool:
    lease = await limits.acquire("ann", max_streams)
    if lease is not None:
        limits.release(lease)
    return lease is not None


def test_without_redis() -> None:
    async def main() -> None:
        async with servers(None, 1) as (limits,):
            assert limits.available is None
            first, second = await acquire(limits), await acquire(limits)
            assert await limits.acquire("ann", 2) is None
            assert await acquire(limits, "bob")
            assert (limits.count("ann"), limits.count("bob"), limits.count("nobody")) == (2, 1, 0)
            for _ in range(2):  # a second time changes nothing
                limits.release(first)
            assert limits.count("ann") == 1
            assert await acquire(limits)
            assert await limits.acquire("ann", 2) is None
            assert await acquire(limits, max_streams=3)
            limits.release(second)
            assert limits.count("ann") == 2

    asyncio.run(main())


def test_idle_keys_are_forgotten() -> None:
    async def main() -> None:
        async with servers(None, 1) as (limits,):
            for number in range(100):
                limits.release(await acquire(limits, f"key {number}"))
            assert not limits._streams

    asyncio.run(main())


def test_servers_share_the_places_of_a_key(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url) as (one, other):
            assert one.available
            first, second = await acquire(one), await acquire(other)
            assert await one.acquire("ann", 2) is None
            assert await other.acquire("ann", 2) is None
            assert one.count("ann") == other.count("ann") == 2
            assert await acquire(one, "bob")
            one.release(first)
            await wait_until(lambda: can_acquire(other, 2))
            other.release(second)
            await wait_until(lambda: can_acquire(one, 1))
            await acquire(one)
            await acquire(one)
            assert one.count("ann") == 2
            assert await other.acquire("ann", 2) is None
            assert other.count("ann") == 2

    asyncio.run(main())


def test_a_released_place_is_free_at_once_on_the_same_server(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url, 1) as (limits,):
            for _ in range(100):
                limits.release(await acquire(limits, max_streams=1))

    asyncio.run(main())


def test_places_are_never_given_twice(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url, 4) as all_servers:
            leases = await asyncio.gather(*(each.acquire("ann", 5) for each in all_servers * 10))
            assert sum(lease is not None for lease in leases) == 5

    asyncio.run(main())


def test_leases_are_renewed(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url) as (one, other):
            await acquire(one, max_streams=1)
            for _ in range(8):
                await asyncio.sleep(_LEASE_SECONDS / 4)
                assert await other.acquire("ann", 1) is None

    asyncio.run(main())


def test_leases_of_a_dead_server_expire(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url, 1) as (survivor,):
            dead = SharedLimits(redis_url, lease_seconds=_LEASE_SECONDS, timeout=10)
            await dead._renew()  # it never renews again
            await acquire(dead, max_streams=1)
            assert await survivor.acquire("ann", 1) is None
            await wait_until(lambda: can_acquire(survivor, 1))
            await dead._redis.aclose()

    asyncio.run(main())


def test_a_server_that_stops_gives_its_places_back(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url, 1) as (survivor,):
            async with servers(redis_url, 1) as (stopping,):
                await acquire(stopping, max_streams=1)
                assert await survivor.acquire("ann", 1) is None
            await acquire(survivor, max_streams=1)

    asyncio.run(main())


def test_a_cancelled_request_keeps_no_place(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url) as (one, other):
            for turn in range(40):
                asking = asyncio.create_task(one.acquire("ann", 1))
                for _ in range(turn % 20):  # it is cancelled at various points
                    await asyncio.sleep(0)
                asking.cancel()
                lease = (await asyncio.gather(asking, return_exceptions=True))[0]
                if isinstance(lease, Lease):
                    one.release(lease)
                assert one.count("ann") == 0
            await wait_until(lambda: can_acquire(other, 1))

    asyncio.run(main())


def test_killed_redis(redis_server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    """Each server counts for itself at once; when Redis is back, all places are counted together again."""

    async def main() -> None:
        async with servers(redis_server.url) as (one, other):
            before = await acquire(one)
            redis_server.kill()
            assert await acquire(one)
            assert await one.acquire("ann", 2) is None
            assert await acquire(other)
            during = await acquire(other)
            assert await other.acquire("ann", 2) is None
            assert not one.available
            assert not other.available
            one.release(before)
            assert (one.count("ann"), other.count("ann")) == (1, 2)

            redis_server.start()
            await wait_until_available(one, other)
            other.release(during)

            async def counted_together() -> bool:
                return one.count("ann") == other.count("ann") == 2

            await wait_until(counted_together)
            assert await one.acquire("ann", 2) is None
            assert await other.acquire("ann", 2) is None
            assert await acquire(one, max_streams=3)

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    lines = [record.getMessage() for record in caplog.records if "Redis" in record.getMessage()]
    assert sum("is unavailable" in line for line in lines) == 2  # once for each server
    assert sum("is available" in line for line in lines) == 4
    assert "not-for-logs" not in caplog.text


def test_server_that_starts_without_redis(redis_server: RedisServer) -> None:
    async def main() -> None:
        redis_server.kill()
        async with servers(redis_server.url) as (one, other):
            assert one.available is False
            await acquire(one, max_streams=1)
            assert await one.acquire("ann", 1) is None
            redis_server.start()
            await wait_until_available(one, other)
            assert await other.acquire("ann", 1) is None

    asyncio.run(main())


def test_suspended_redis_holds_nobody_up(redis_server: RedisServer) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with servers(redis_server.url, patience=0.25) as (one, other):
            await wait_until_available(one, other)
            redis_server.suspend()
            started = loop.time()
            leases = await asyncio.gather(*(one.acquire("ann", 5) for _ in range(10)))
            assert sum(lease is not None for lease in leases) == 5
            assert await one.spend("ann", 10, 100) is None
            for lease in leases:
                if lease is not None:
                    one.release(lease)
            assert loop.time() - started < 10  # one timeout of 0.25 s, for all of them
            assert not one.available
            redis_server.resume()
            await wait_until_available(one, other)
            # What the suspended server had still been sent keeps no places either.
            await wait_until(lambda: can_acquire(other, 1))

    asyncio.run(main())


@pytest.mark.parametrize("url", ["redis://:secret/word@host", "http://:secret@host", "redis://:secret@host:port"])
def test_url_that_cannot_be_parsed_is_not_quoted(url: str) -> None:
    with pytest.raises(ValueError, match="SVC_REDIS_URL") as caught:
        SharedLimits(url)
    with pytest.raises(ValidationError, match="redis://:password@host") as rejected:
        Settings.model_validate({"redis_url": url})
    for error in (caught.value, rejected.value):
        assert "secret" not in str(error)
    assert caught.value.__suppress_context__


def test_characters_a_minute() -> None:
    async def main() -> None:
        async with servers(None, 1) as (limits,):
            await check_rate(limits, limits)

    asyncio.run(main())


def test_servers_share_the_characters_a_minute(redis_url: str) -> None:
    async def main() -> None:
        async with servers(redis_url) as (one, other):
            await check_rate(one, other)

    asyncio.run(main())


async def check_rate(one: SharedLimits, other: SharedLimits) -> None:
    assert await one.spend("ann", 700, 1_000) is None
    wait = await other.spend("ann", 400, 1_000)
    assert wait is not None
    assert 0 < wait <= 120
    assert await other.spend("ann", 300, 1_000) is None  # what was refused was not counted
    assert await one.spend("ann", 1, 1_000) is not None
    assert await one.spend("bob", 1_000, 1_000) is None
    assert await one.spend("cid", 1_001, 1_000) == math.inf
    assert await one.spend("cid", 1_000, 1_000) is None


def test_characters_are_counted_on_while_redis_is_down(redis_server: RedisServer) -> None:
    async def main() -> None:
        async with servers(redis_server.url) as (one, other):
            assert await one.spend("ann", 900, 1_000) is None
            redis_server.kill()
            assert await one.spend("ann", 200, 1_000) is not None
            assert await other.spend("ann", 200, 1_000) is None

    asyncio.run(main())


def test_what_passed_while_redis_was_slow_counts_when_it_is_back(redis_server: RedisServer) -> None:
    """One late answer used to make room for a whole minute's allowance more."""

    async def main() -> None:
        async with servers(redis_server.url, patience=0.25) as (one, other):
            await wait_until_available(one, other)
            redis_server.suspend()
            assert await one.spend("ann", 100, 300) is None
            redis_server.resume()
            await wait_until_available(one, other)

            async def is_told() -> bool:
                return not len(one._untold_rates)

            await wait_until(is_told)
            passed = [await each.spend("ann", 100, 300) is None for each in (one, other, one, other)]
            assert sum(passed) <= 2

    asyncio.run(main())


def test_a_server_never_allows_more_than_the_limit_whatever_redis_forgets(redis_server: RedisServer) -> None:
    async def main() -> None:
        async with servers(redis_server.url, 1) as (one,):
            assert await one.spend("ann", 200, 300) is None
            redis_server.kill()  # with all that it knew
            redis_server.start()
            await wait_until_available(one)
            assert await one.spend("ann", 200, 300) is not None
            assert await one.spend("ann", 100, 300) is None

    asyncio.run(main())


def test_idle_keys_have_no_rates() -> None:
    now = 0.0
    rates = LocalRates(lambda: now)
    for number in range(1_000):
        now += 1
        rates.spend(f"key {number}", 1, 10)
    assert len(rates) <= 61


@given(st.lists(st.tuples(st.floats(0, 40), st.integers(1, 150)), max_size=60))
def test_no_minute_has_more_than_the_limit_and_waits_are_right(requests: list[tuple[float, int]]) -> None:
    now, allowed = 1_800_000_000.3, list[tuple[float, int]]()
    rates = LocalRates(lambda: now)
    for pause, characters in requests:
        now += pause
        wait = rates.spend("ann", characters, 100)
        if characters > 100:
            assert wait == math.inf
        elif wait:
            assert wait <= 61
            came, now = now, now + wait * 0.9 - 0.01
            if now > came:
                assert rates.spend("ann", characters, 100)
            now = came + wait + 0.001
            assert not rates.spend("ann", characters, 100)
        if characters <= 100:
            allowed.append((now, characters))
            assert sum(each for at, each in allowed if at > now - 60) <= 100
