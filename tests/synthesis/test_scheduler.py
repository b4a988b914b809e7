"""Turns are fair, work that nobody waits for stops, and the state of the engine is told."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator

import pytest

from svc.errors import EngineUnavailable, ModelLoading
from svc.observability.metrics import Metrics
from svc.synthesis.fair_queue import FairQueue
from svc.synthesis.playback import Playback
from svc.synthesis.request import AudioPart, Parts
from svc.synthesis.scheduler import EngineSpeed, Scheduler


def _work(name: str, steps: int, log: list[str], seconds: float = 0.0) -> Parts:
    try:
        for step in range(steps):
            log.append(f"{name}{step}")
            yield AudioPart(f"{name}{step}".encode(), seconds=seconds)
    finally:
        log.append(f"{name} closed")


async def _ready(workers: int = 1) -> Scheduler:
    scheduler = Scheduler(lambda: None, workers=workers)
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
            async for _ in scheduler.run(_work(name, steps, log), Playback()):
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
            async for _ in scheduler.run(_work(name, 5, log, seconds), Playback()):
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

        def held() -> Parts:
            first_step.wait()
            yield from _work("first", 1, log)

        async def consume(turns: AsyncGenerator[AudioPart]) -> None:
            async for _ in turns:
                pass

        async def speak() -> None:
            async for _ in scheduler.run(_work("live", 3, log), Playback()):
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
        queue, over = FairQueue(), asyncio.Event()
        order = list[str]()

        async def take(name: str, due: float) -> None:
            async with queue.acquire("key", due):
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
        queue = FairQueue()

        async def take() -> None:
            async with queue.acquire("key", 0):
                pass

        async with queue.acquire("key", 0):
            waiting = asyncio.create_task(take())
            await asyncio.sleep(0)
        waiting.cancel()  # after the turn was handed over, before it could begin
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(120):
            await take()

    asyncio.run(main())


def test_a_turn_is_not_handed_to_somebody_who_was_just_cancelled() -> None:
    async def main() -> None:
        queue = FairQueue()

        async def take() -> None:
            async with queue.acquire("key", 0):
                pass

        async with queue.acquire("key", 0):
            cancelled, patient = asyncio.create_task(take()), asyncio.create_task(take())
            await asyncio.sleep(0)
            cancelled.cancel()  # and the turn ends before it can notice
        async with asyncio.timeout(120):
            await asyncio.wait({cancelled, patient})
        assert cancelled.cancelled()
        assert not patient.cancelled()

    asyncio.run(main())


def test_clips_are_made_behind_streams_and_short_ones_before_long_ones() -> None:
    log: list[str] = []

    async def main() -> None:
        scheduler = await _ready()
        came = threading.Event()

        def hold() -> Parts:
            came.wait(timeout=120)
            yield AudioPart()

        async def consume(work: Parts, playback: Playback) -> None:
            async for _ in scheduler.run(work, playback):
                pass

        first = asyncio.create_task(consume(hold(), Playback("a")))
        await asyncio.sleep(0)
        others = [
            asyncio.create_task(consume(_work(name, 2, log), playback))
            for name, playback in (
                ("long", Playback("a", 60, live=False)),
                ("short", Playback("a", 5, live=False)),
                ("stream", Playback("a", 60)),
            )
        ]
        await asyncio.sleep(0)
        came.set()
        await asyncio.gather(first, *others)
        await scheduler.close()

    asyncio.run(main())
    made = [each for each in log if not each.endswith("closed")]
    assert made == ["stream0", "stream1", "short0", "short1", "long0", "long1"]


def test_workers_speak_at_the_same_time() -> None:
    """Three texts meet inside their steps, which takes three workers; a fourth one has its turn, too."""
    meeting, log = threading.Barrier(3, timeout=120), list[str]()

    def work(name: str) -> Parts:
        log.append(name)
        meeting.wait()
        yield AudioPart()

    async def main() -> None:
        scheduler = await _ready(workers=3)

        async def consume(work: Parts) -> None:
            async for _ in scheduler.run(work, Playback()):
                pass

        await asyncio.gather(*(consume(work(name)) for name in "abc"), consume(_work("fourth", 1, log)))
        await scheduler.close()

    asyncio.run(main())
    assert {"a", "b", "c", "fourth0"} <= set(log)


def test_the_steps_of_one_text_never_overlap() -> None:
    running = threading.Lock()

    def work() -> Parts:
        for _ in range(200):
            assert running.acquire(blocking=False)
            time.sleep(0)
            running.release()
            yield AudioPart()

    async def main() -> None:
        scheduler = await _ready(workers=4)
        stream = scheduler.run(work(), Playback())
        async for _ in stream:
            pass
        await scheduler.close()

    asyncio.run(main())


def test_abandoned_work_stops_within_a_step() -> None:
    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()
        stream = scheduler.run(_work("a", 1000, log), Playback())
        await anext(stream)
        await anext(stream)
        await stream.aclose()
        await scheduler.close()
        return log

    assert asyncio.run(main()) == ["a0", "a1", "a closed"]


def test_cancelled_while_a_step_is_running() -> None:
    started, finish, log = threading.Event(), threading.Event(), list[str]()

    def work() -> Parts:
        try:
            started.set()
            finish.wait()
            yield AudioPart(b"late")
            log.append("went on")
        finally:
            log.append("closed")

    async def main() -> None:
        scheduler = await _ready()

        async def consume() -> None:
            async for _ in scheduler.run(work(), Playback()):
                pass

        task = asyncio.create_task(consume())
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        finish.set()
        log.append((await anext(scheduler.run(_work("next", 1, []), Playback()))).audio.decode())
        await scheduler.close()

    asyncio.run(main())
    assert log == ["closed", "next0"]


def test_a_key_with_many_texts_does_not_starve_one_with_few() -> None:
    """Of two keys, each gets every second step, however many texts it has."""

    async def main() -> list[str]:
        scheduler, log = await _ready(), list[str]()

        async def consume(name: str, key_id: str) -> None:
            async for _ in scheduler.run(_work(name, 6, log), Playback(key_id)):
                pass

        await asyncio.gather(*(consume(f"many{index} ", "many") for index in range(10)), consume("few ", "few"))
        await scheduler.close()
        return log

    log = asyncio.run(main())
    assert log.index("few 5") < 20, log  # of 66 steps


def test_a_key_that_was_away_has_no_claim_to_the_time_of_the_others() -> None:
    queue = FairQueue()
    with queue.join("busy"):
        queue.charge("busy", 100)
        with queue.join("new"):
            assert queue._used["new"] == 100
    assert not queue._used


def test_the_real_time_factor_follows_what_was_measured() -> None:
    speed = EngineSpeed()
    for _ in range(100):
        speed.observe(work_seconds=0.2, audio_seconds=1)
    assert speed.real_time_factor == pytest.approx(0.2, rel=0.05)
    for _ in range(100):
        speed.observe(work_seconds=0.4, audio_seconds=1)
    assert speed.real_time_factor == pytest.approx(0.4, rel=0.05)


def test_seconds_without_audio_in_the_middle_of_a_text_are_counted() -> None:
    def work() -> Parts:
        yield AudioPart(seconds=0.01)
        time.sleep(0.2)
        yield AudioPart(seconds=0.01)

    async def starve(live: bool) -> float:
        metrics = Metrics()
        scheduler = Scheduler(lambda: None, metrics)
        async for _ in scheduler.run(work(), Playback(live=live)):
            pass
        await scheduler.close()
        return float(metrics.starved_seconds._value.get())

    assert asyncio.run(starve(live=True)) > 0.1
    assert asyncio.run(starve(live=False)) == 0


def test_an_engine_that_cannot_load_says_why() -> None:
    def load() -> None:
        raise EngineUnavailable("no weights")

    async def main() -> None:
        scheduler = Scheduler(load)
        with pytest.raises(ModelLoading):
            scheduler.require_ready()
        scheduler.start()
        with pytest.raises(EngineUnavailable, match="no weights"):
            await _until_loaded(scheduler)
        await scheduler.close()

    asyncio.run(main())


def test_workers_come_and_go() -> None:
    async def main() -> None:
        queue, running, most = FairQueue(1), 0, 0

        async def work() -> None:
            nonlocal running, most
            async with queue.acquire("key", 0.0):
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1

        async def peak() -> int:
            nonlocal most
            most = 0
            await asyncio.gather(*(work() for _ in range(12)))
            return most

        assert await peak() == 1
        queue.resize(4)
        assert await peak() == 4
        queue.resize(2)
        assert await peak() == 2
        waiting = [asyncio.create_task(work()) for _ in range(6)]
        await asyncio.sleep(0)
        queue.resize(6)  # those who wait already profit
        most = 0
        await asyncio.gather(*waiting)
        assert most > 2

    asyncio.run(main())


def test_without_workers_it_is_not_ready_but_ends_what_has_begun() -> None:
    async def main() -> None:
        scheduler = Scheduler(lambda: None, max_workers=4)
        scheduler.start()
        await scheduler.wait_until_loaded()
        parts = scheduler.run(_work("a", 3, []), Playback())
        await anext(parts)
        scheduler.resize(0)
        with pytest.raises(EngineUnavailable):
            scheduler.require_ready()
        assert len([part async for part in parts]) == 2
        scheduler.resize(8)
        scheduler.require_ready()
        assert scheduler.speed.workers == 4
        await scheduler.close()

    asyncio.run(main())


def test_work_is_closed_after_the_step_that_still_runs() -> None:
    """A generator cannot be closed while it runs, and another thread would be free to try."""
    started, finish, closed = threading.Event(), threading.Event(), threading.Event()

    def work() -> Parts:
        try:
            started.set()
            finish.wait(300)
            yield AudioPart(b"late")
        finally:
            closed.set()

    async def main() -> None:
        scheduler = await _ready(workers=2)
        asking = asyncio.ensure_future(anext(scheduler.run(work(), Playback())))
        await asyncio.to_thread(started.wait, 300)
        asking.cancel()
        await asyncio.wait({asking})
        async for _ in scheduler.run(_work("other", 3, []), Playback()):
            assert not closed.is_set(), "the other thread is free"
        finish.set()
        assert await asyncio.to_thread(closed.wait, 60)
        await scheduler.close()

    asyncio.run(main())
