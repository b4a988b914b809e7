"""Continuous batching: who shares a batch, in which order, and what a failure or a hang-up does to the others."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from svc.engine.batcher import Batcher
from svc.synthesis.playback import Playback
from svc.synthesis.request import AudioPart, Parts
from svc.synthesis.scheduler import Scheduler

WAIT = 60.0


class Device:
    """Doubles numbers in batches, while it is allowed to; -1 cannot be computed."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.busy, self.free = threading.Event(), threading.Event()
        self.free.set()

    def run(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.busy.set()
        assert self.free.wait(WAIT)
        if -1 in items:
            raise ValueError("cannot be computed")
        return [2 * item for item in items]

    def batcher(self, most: int = 8) -> Batcher[int, int]:
        """Hundreds share a batch."""
        return Batcher(self.run, lambda item: item // 100, most=lambda _: most, threads=1)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def gather(device: Device, batcher: Batcher[int, int], pool: ThreadPoolExecutor, items: list[int]) -> list[object]:
    """The results of items that came, in this order, while the device was busy; exceptions as they are."""
    device.free.clear()
    first = pool.submit(batcher, 0)
    assert device.busy.wait(WAIT)
    calls = []
    for count, item in enumerate(items, start=1):
        calls.append(pool.submit(batcher, item))
        while len(batcher._waiting) < count:
            time.sleep(0.001)
    device.free.set()
    assert first.result(WAIT) == 0
    return [call.exception(WAIT) or call.result(WAIT) for call in calls]


def test_what_comes_while_a_batch_runs_is_the_next_batch(pool: ThreadPoolExecutor) -> None:
    device = Device()
    assert gather(device, device.batcher(), pool, [1, 2, 3, 4]) == [2, 4, 6, 8]
    assert device.batches == [[0], [1, 2, 3, 4]]


def test_batches_are_bounded_and_in_order(pool: ThreadPoolExecutor) -> None:
    device = Device()
    gather(device, device.batcher(most=2), pool, [5, 4, 3, 2, 1])
    assert device.batches == [[0], [5, 4], [3, 2], [1]]


def test_a_short_item_shares_no_batch_with_a_long_one(pool: ThreadPoolExecutor) -> None:
    device = Device()
    assert gather(device, device.batcher(), pool, [1, 400, 2, 401]) == [2, 800, 4, 802]
    assert device.batches == [[0], [1, 2], [400, 401]]


def test_only_the_item_fails_that_cannot_be_computed(pool: ThreadPoolExecutor) -> None:
    device = Device()
    batcher = Batcher(device.run, lambda item: 0, most=lambda _: 8, threads=1)
    gathered = gather(device, batcher, pool, [1, -1, 2])
    assert gathered[0] == 2
    assert isinstance(gathered[1], ValueError)
    assert gathered[2] == 4
    assert batcher(7) == 14, "and the next ones are computed"


def test_an_item_that_cannot_be_measured_fails_alone() -> None:
    batcher = Device().batcher()
    with pytest.raises(TypeError):
        batcher("no number")  # type: ignore[arg-type]
    assert batcher(3) == 6


def speak(batcher: Batcher[int, int], name: int, steps: int, seconds: float) -> Parts:
    for _ in range(steps):
        batcher(name)
        yield AudioPart(seconds=seconds)


def test_batches_follow_the_deadlines_of_the_scheduler() -> None:
    """Two workers for many texts: whoever has no audio left is in one of the next batches, not in the last."""
    device = Device()
    batcher = device.batcher()

    async def main() -> None:
        scheduler = Scheduler(lambda: None, workers=2)
        scheduler.start()

        async def consume(name: int, seconds: float) -> None:
            async for _ in scheduler.run(speak(batcher, name, 4, seconds), Playback()):
                pass

        rich = [consume(name, 60.0) for name in range(1, 21)]
        await asyncio.gather(*rich, consume(99, 0.0))
        await scheduler.close()

    asyncio.run(main())
    order = [name for batch in device.batches for name in batch]
    assert len(order) == 84
    assert max(i for i, name in enumerate(order) if name == 99) < 50, order  # 27 as a rule; in turns, it would be 83


def test_a_text_that_is_hung_up_is_in_no_further_batch() -> None:
    device = Device()
    batcher = device.batcher()

    async def main() -> int:
        scheduler = Scheduler(lambda: None, workers=4)
        scheduler.start()

        async def consume(name: int) -> None:
            async for _ in scheduler.run(speak(batcher, name, 10, 1.0), Playback()):
                pass

        others = [asyncio.create_task(consume(name)) for name in (1, 2)]
        leaving = scheduler.run(speak(batcher, 50, 10_000, 1.0), Playback())
        await anext(leaving)
        await leaving.aclose()
        await asyncio.gather(*others)
        await scheduler.close()
        return sum(batch.count(50) for batch in device.batches)

    assert asyncio.run(main()) <= 3
    assert sum(batch.count(1) + batch.count(2) for batch in device.batches) == 20
