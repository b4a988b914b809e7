"""Turns are fair, work that nobody waits for stops, and the state of the engine is told."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator

import pytest

from svc.errors import Busy, EngineUnavailable, ModelLoading
from svc.synthesis.scheduler import DeadlineQueue, PlaybackClock, Scheduler


def _work(name: str, steps: int, log: list[str]) -> Generator[str]:
    try:
        for step in range(steps):
            log.append(f"{name}{step}")
            yield f"{name}{step}"
    finally:
        log.append(f"{name} closed")


async def _ready(max_streams: int = 8) -> Scheduler:
    scheduler = Scheduler(lambda: None, max_streams)
    scheduler.start()
    await _until_loaded(scheduler)
    return scheduler


async def _until_loaded(scheduler: Scheduler) -> None:
    while True:
        try:
            return scheduler.require_ready()
        except ModelLoading:
            await asyncio.sleep(0)


def test_streams_take_turns() -> None:
    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()

        async def consume(name: str, steps: int) -> None:
            async for _ in scheduler.stream(_work(name, steps, log)):
                pass

        await asyncio.gather(consume("long", 20), consume("short", 3))
        await scheduler.close()
        return log

    log = asyncio.run(main())
    assert log.index("short2") < log.index("long6"), log


def test_who_has_sound_enough_waits_for_who_has_none() -> None:
    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()

        async def consume(name: str, seconds: float) -> None:
            async for _ in scheduler.stream(_work(name, 5, log), PlaybackClock(lambda _: seconds)):
                pass

        await asyncio.gather(*(consume(f"rich{index} ", 60) for index in range(3)), consume("poor", 0))
        await scheduler.close()
        return log

    log = asyncio.run(main())
    assert log.index("poor4") < 14, log  # every second turn, once all have had their first; fairly, it would be 19


def test_spare_work_takes_no_turn_while_anybody_speaks() -> None:
    """Neither before somebody who came later, nor between the steps of somebody who takes their time."""

    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()
        first_step = threading.Event()

        def held() -> Generator[str]:
            first_step.wait()
            yield from _work("first", 1, log)

        async def consume(turns: AsyncGenerator[str]) -> None:
            async for _ in turns:
                pass

        async def speak() -> None:
            async for _ in scheduler.stream(_work("live", 3, log)):
                for _ in range(10):
                    await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(consume(scheduler.run_when_idle(held())))
            await asyncio.sleep(0)
            tasks.create_task(consume(scheduler.run_when_idle(_work("spare", 2, log))))
            await asyncio.sleep(0)
            tasks.create_task(speak())
            await asyncio.sleep(0)
            first_step.set()
        await scheduler.close()
        return [step for step in log if "closed" not in step]

    assert asyncio.run(main()) == ["first0", "live0", "live1", "live2", "spare0", "spare1"]


def test_who_stops_waiting_gives_the_turn_to_the_next() -> None:
    async def main() -> None:
        queue, over = DeadlineQueue(), asyncio.Event()
        order = list[str]()

        async def take(name: str, due: float) -> None:
            async with queue.acquire(due):
                order.append(name)
                await over.wait()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(take("first", 0))
            await asyncio.sleep(0)
            impatient = tasks.create_task(take("impatient", 1))
            tasks.create_task(take("last", 3))
            tasks.create_task(take("second", 2))
            await asyncio.sleep(0)
            impatient.cancel()
            over.set()
        assert order == ["first", "second", "last"]

    asyncio.run(main())


def test_a_turn_that_is_handed_over_and_not_wanted_any_more_goes_on() -> None:
    async def main() -> None:
        queue = DeadlineQueue()

        async def take() -> None:
            async with queue.acquire(0):
                pass

        async with queue.acquire(0):
            waiting = asyncio.create_task(take())
            await asyncio.sleep(0)
        waiting.cancel()  # after the turn was handed over, before it could begin
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(5):
            await take()

    asyncio.run(main())


def test_abandoned_work_stops_within_a_step() -> None:
    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()
        stream = scheduler.stream(_work("a", 1000, log))
        await anext(stream)
        await anext(stream)
        await stream.aclose()
        assert scheduler.streams == 0
        await scheduler.close()
        return log

    assert asyncio.run(main()) == ["a0", "a1", "a closed"]


def test_cancelled_while_a_step_is_running() -> None:
    started, finish, log = threading.Event(), threading.Event(), list[str]()

    def work() -> Generator[str]:
        try:
            started.set()
            finish.wait()
            yield "late"
            log.append("went on")
        finally:
            log.append("closed")

    async def main() -> None:
        scheduler = await _ready()

        async def consume() -> None:
            async for _ in scheduler.stream(work()):
                pass

        task = asyncio.create_task(consume())
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        finish.set()
        log.append(await _first(scheduler))
        await scheduler.close()

    async def _first(scheduler: Scheduler) -> str:
        return await anext(scheduler.stream(_work("next", 1, [])))

    asyncio.run(main())
    assert log == ["closed", "next0"]


def test_too_many_streams_are_refused() -> None:
    async def main() -> None:
        scheduler = await _ready(max_streams=1)
        stream = scheduler.stream(_work("a", 2, []))
        await anext(stream)
        with pytest.raises(Busy):
            await anext(scheduler.stream(_work("b", 2, [])))
        await stream.aclose()
        assert await anext(scheduler.stream(_work("c", 2, []))) == "c0"
        await scheduler.close()

    asyncio.run(main())


def test_an_engine_that_cannot_load_says_why() -> None:
    def load() -> None:
        raise EngineUnavailable("no weights")

    async def main() -> None:
        scheduler = Scheduler(load, 1)
        with pytest.raises(ModelLoading):
            scheduler.require_ready()
        scheduler.start()
        with pytest.raises(EngineUnavailable, match="no weights"):
            await _until_loaded(scheduler)
        await scheduler.close()

    asyncio.run(main())
