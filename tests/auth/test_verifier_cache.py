"""How long an answer of the keys table counts."""

import asyncio

import pytest

from svc.auth import verifier as cache
from svc.auth.keys import Kind, Scope, StoredKey
from svc.auth.verifier import CachedKeys
from svc.errors import KeysUnavailable
from tests.auth.clock import Clock


def _key(name: str) -> StoredKey:
    return StoredKey(name, Kind.KEY, "svc_x", name, frozenset({Scope.FULL}), None, 0, None, None, None, None)


class _Table:
    def __init__(self, *names: str) -> None:
        self.rows = {name: _key(name) for name in names}
        self.asked: list[str] = []
        self.up = True

    async def find(self, digest: str) -> StoredKey | None:
        self.asked.append(digest)
        if not self.up:
            raise KeysUnavailable("down")
        return self.rows.get(digest)


def test_a_row_is_read_again_after_its_time(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=0)
        for _ in range(3):
            assert await cached.find("a") == table.rows["a"]
        clock.now += 4.9
        del table.rows["a"]
        assert await cached.find("a")
        assert table.asked == ["a"]
        clock.now += 0.1
        assert await cached.find("a") is None
        assert table.asked == ["a", "a"]

    asyncio.run(main())


def test_that_there_is_no_such_key_counts_for_a_second(clock: Clock) -> None:
    async def main() -> None:
        table = _Table()
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=0)
        assert await cached.find("a") is None
        table.rows["a"] = _key("a")
        clock.now += 0.9
        assert await cached.find("a") is None
        clock.now += 0.1
        assert await cached.find("a")
        assert len(table.asked) == 2

    asyncio.run(main())


def test_without_a_time_every_request_asks(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=0, grace_seconds=0)
        for _ in range(3):
            await cached.find("a")
            await cached.find("b")
        assert len(table.asked) == 6

    asyncio.run(main())


def test_a_clock_that_is_set_back_prolongs_nothing(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=0)
        await cached.find("a")
        del table.rows["a"]
        clock.now -= 3600
        assert await cached.find("a") is None

    asyncio.run(main())


def test_grace_ends(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=60)
        await cached.find("a")
        await cached.find("unknown")
        table.up = False
        clock.now += 59
        assert await cached.find("a")
        asked = len(table.asked)
        clock.now += 0.5
        assert await cached.find("a")
        assert len(table.asked) == asked, "a database that is down is not asked at every request"
        for digest in ("unknown", "never seen"):
            with pytest.raises(KeysUnavailable):
                await cached.find(digest)
        clock.now += 5
        with pytest.raises(KeysUnavailable):
            await cached.find("a")
        table.up = True
        assert await cached.find("a")

    asyncio.run(main())


def test_grace_ends_in_the_middle_of_the_time_that_a_row_counts(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=7)
        await cached.find("a")
        table.up = False
        clock.now += 6
        assert await cached.find("a")
        clock.now += 1
        with pytest.raises(KeysUnavailable):
            await cached.find("a")

    asyncio.run(main())


def test_without_grace_nobody_is_let_in(clock: Clock) -> None:
    async def main() -> None:
        table = _Table("a")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=0)
        await cached.find("a")
        table.up = False
        clock.now += 5
        with pytest.raises(KeysUnavailable):
            await cached.find("a")

    asyncio.run(main())


def test_invented_keys_do_not_push_out_real_ones(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_KNOWN", 3)
    monkeypatch.setattr(cache, "_UNKNOWN", 3)

    async def main() -> None:
        table = _Table(*"abcd")
        cached = CachedKeys(table.find, clock, seconds=5, grace_seconds=0)
        await cached.find("a")
        for number in range(100):
            await cached.find(str(number))
        table.asked.clear()
        await cached.find("a")
        assert table.asked == []
        assert len(cached._unknown) == 3
        for name in "bcd":
            await cached.find(name)
        assert len(cached._known) == 3
        await cached.find("a")
        assert table.asked == ["b", "c", "d", "a"]

    asyncio.run(main())
