"""How long rows of the keys table are cache."""

import asyncio

import pytest

from svc.auth import verifier
from svc.auth.keys import Kind, Scope, StoredKey
from svc.auth.verifier import KeyCache
from svc.errors import KeysUnavailable
from tests.auth.clock import Clock


def _key(name: str) -> StoredKey:
    return StoredKey(name, Kind.KEY, "svc_x", name, frozenset({Scope.FULL}), None, 0, None, None, None, None)


class _FakeTable:
    def __init__(self, *names: str) -> None:
        self.rows = {name: _key(name) for name in names}
        self.queries: list[str] = []
        self.is_available = True

    async def find(self, digest: str) -> StoredKey | None:
        self.queries.append(digest)
        if not self.is_available:
            raise KeysUnavailable("down")
        return self.rows.get(digest)


def test_row_is_read_again_after_the_cache_time(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=0)
        for _ in range(3):
            assert await cache.find("a") == table.rows["a"]
        clock.now += 4.9
        del table.rows["a"]
        assert await cache.find("a")
        assert table.queries == ["a"]
        clock.now += 0.1
        assert await cache.find("a") is None
        assert table.queries == ["a", "a"]

    asyncio.run(main())


def test_unknown_key_is_cached_for_a_second(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable()
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=0)
        assert await cache.find("a") is None
        table.rows["a"] = _key("a")
        clock.now += 0.9
        assert await cache.find("a") is None
        clock.now += 0.1
        assert await cache.find("a")
        assert len(table.queries) == 2

    asyncio.run(main())


def test_without_cache_time_every_request_queries(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=0, grace_seconds=0)
        for _ in range(3):
            await cache.find("a")
            await cache.find("b")
        assert len(table.queries) == 6

    asyncio.run(main())


def test_clock_that_is_set_back_prolongs_nothing(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=0)
        await cache.find("a")
        del table.rows["a"]
        clock.now -= 3600
        assert await cache.find("a") is None

    asyncio.run(main())


def test_grace_ends(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=60)
        await cache.find("a")
        await cache.find("unknown")
        table.is_available = False
        clock.now += 59
        assert await cache.find("a")
        queries = len(table.queries)
        clock.now += 0.5
        assert await cache.find("a")
        assert len(table.queries) == queries, "an unavailable database is not queried at every request"
        for digest in ("unknown", "never seen"):
            with pytest.raises(KeysUnavailable):
                await cache.find(digest)
        clock.now += 5
        with pytest.raises(KeysUnavailable):
            await cache.find("a")
        table.is_available = True
        assert await cache.find("a")

    asyncio.run(main())


def test_grace_ends_within_the_cache_time(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=7)
        await cache.find("a")
        table.is_available = False
        clock.now += 6
        assert await cache.find("a")
        clock.now += 1
        with pytest.raises(KeysUnavailable):
            await cache.find("a")

    asyncio.run(main())


def test_without_grace_an_unavailable_database_is_an_error(clock: Clock) -> None:
    async def main() -> None:
        table = _FakeTable("a")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=0)
        await cache.find("a")
        table.is_available = False
        clock.now += 5
        with pytest.raises(KeysUnavailable):
            await cache.find("a")

    asyncio.run(main())


def test_invented_keys_do_not_evict_real_ones(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "_MAX_KNOWN", 3)
    monkeypatch.setattr(verifier, "_MAX_UNKNOWN", 3)

    async def main() -> None:
        table = _FakeTable(*"abcd")
        cache = KeyCache(table.find, clock, seconds=5, grace_seconds=0)
        await cache.find("a")
        for number in range(100):
            await cache.find(str(number))
        table.queries.clear()
        await cache.find("a")
        assert table.queries == []
        assert len(cache._unknown) == 3
        for name in "bcd":
            await cache.find(name)
        assert len(cache._known) == 3
        await cache.find("a")
        assert table.queries == ["b", "c", "d", "a"]

    asyncio.run(main())
