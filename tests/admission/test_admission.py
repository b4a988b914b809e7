"""Who is let in, who waits, and who is refused."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from svc.admission.admission import Admission, Limits, Place
from svc.admission.shared import SharedLimits
from svc.auth.keys import KeyLimits, Principal, Scope
from svc.errors import Busy, RateLimitExceeded, TooManyConcurrentRequests
from svc.observability.metrics import Metrics
from svc.synthesis.scheduler import EngineSpeed

_LONG = 1000.0


def _key(name: str, **limits: int) -> Principal:
    return Principal(name, frozenset({Scope.FULL}), limits=KeyLimits(**limits))


def _admission(
    max_streams: int = 100,
    max_waiting: int = 100,
    queue_seconds: float = 60,
    clip_queue_seconds: float = 60,
    real_time_factor: float = 0.001,
    start_seconds: float = 0.0,
    several_keys: bool = False,
    characters: int | None = None,
    each_key: KeyLimits = KeyLimits(),  # noqa: B008 (immutable)
) -> Admission:
    speed = EngineSpeed()
    speed.observe(work_seconds=real_time_factor * 10_000, audio_seconds=10_000)
    speed.start_seconds = start_seconds
    return Admission(
        Limits(max_streams, max_waiting, characters),
        each_key,
        SharedLimits(None),
        speed,
        Metrics(),
        several_keys=several_keys,
        max_load=0.75,
        queue_seconds=queue_seconds,
        clip_queue_seconds=clip_queue_seconds,
    )


def _run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_key_over_its_limit_waits_and_is_then_refused() -> None:
    async def main() -> None:
        admission = _admission(queue_seconds=0.1)
        key = _key("a", max_streams=1)
        with await admission.admit(key, 10, 1):
            assert admission.count(key) == 1
            with pytest.raises(TooManyConcurrentRequests) as refused:
                await admission.admit(key, 10, 1)
            assert refused.value.retry_after
        assert admission.count(key) == 0
        (await admission.admit(key, 10, 1)).release()

    _run(main)


def test_who_waits_is_let_in_when_a_place_is_free() -> None:
    async def main() -> None:
        admission = _admission()
        key = _key("a", max_streams=1)
        first = await admission.admit(key, 10, 1)
        waiting = asyncio.create_task(admission.admit(key, 10, 1))
        await _settle()
        assert not waiting.done()
        first.release()
        first.release()
        (await waiting).release()

    _run(main)


def test_an_engine_that_could_not_keep_up_refuses() -> None:
    async def main() -> None:
        admission = _admission(queue_seconds=0.1, real_time_factor=0.2)
        places = [await admission.admit(_key("a"), 10, _LONG) for _ in range(3)]
        with pytest.raises(Busy) as refused:
            await admission.admit(_key("a"), 10, _LONG)
        assert refused.value.retry_after
        places[0].release()
        (await admission.admit(_key("a"), 10, _LONG)).release()

    _run(main)


def test_texts_that_begin_at_once_wait_for_each_other() -> None:
    """Each takes a quarter of a second to begin, and all are to begin within a second and a half."""

    async def main() -> None:
        admission = _admission(queue_seconds=0.1, start_seconds=0.25)
        places = [await admission.admit(_key("a"), 10, 1) for _ in range(4)]
        with pytest.raises(Busy):
            await admission.admit(_key("a"), 10, 1)
        for place in places[:2]:
            place.playback.add(0.5, asked_at=0)
        (await admission.admit(_key("a"), 10, 1)).release()

    _run(main)


def test_an_engine_slower_than_real_time_serves_one_after_the_other() -> None:
    async def main() -> None:
        admission = _admission(queue_seconds=0.1, real_time_factor=3)
        with await admission.admit(_key("a"), 10, 5), pytest.raises(Busy):
            await admission.admit(_key("a"), 10, 5)

    _run(main)


def test_one_of_several_keys_leaves_room_for_the_others() -> None:
    async def main() -> None:
        admission = _admission(queue_seconds=0.1, real_time_factor=0.1, several_keys=True)
        places = list[Place]()

        async def take_all() -> None:
            while True:
                places.append(await admission.admit(_key("greedy"), 10, _LONG))

        with pytest.raises(Busy):
            await take_all()
        assert len(places) == 5  # of the seven that the engine holds
        (await admission.admit(_key("modest"), 10, _LONG)).release()

    _run(main)


def test_of_those_who_wait_the_key_with_the_fewest_texts_goes_first() -> None:
    async def main() -> None:
        admission = _admission(max_streams=2)
        first, second = [await admission.admit(_key("greedy"), 10, 1) for _ in range(2)]
        order = list[str]()

        async def take(name: str) -> None:
            with await admission.admit(_key(name), 10, 1):
                order.append(name)
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            for name in ("greedy", "greedy", "modest"):
                tasks.create_task(take(name))
            await _settle()
            first.release()
            await _settle()
            second.release()
        assert order == ["modest", "greedy", "greedy"]

    _run(main)


@pytest.mark.parametrize("limits", [{"max_waiting": 1}, {"each_key": KeyLimits(max_waiting=1)}])
def test_more_than_may_wait_are_refused_at_once(limits: dict[str, Any]) -> None:
    async def main() -> None:
        admission = _admission(max_streams=1, **limits)
        first = await admission.admit(_key("a"), 10, 1)
        waiting = asyncio.create_task(admission.admit(_key("a"), 10, 1))
        await _settle()
        with pytest.raises((Busy, TooManyConcurrentRequests)):
            await admission.admit(_key("a"), 10, 1)
        first.release()
        (await waiting).release()

    _run(main)


def test_who_stops_waiting_leaves_no_trace() -> None:
    async def main() -> None:
        admission = _admission(max_streams=1)
        first = await admission.admit(_key("a"), 10, 1)
        waiting = asyncio.create_task(admission.admit(_key("a"), 10, 1))
        await _settle()
        first.release()  # hands the place over ...
        waiting.cancel()  # ... to somebody who does not want it any more
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert admission.count(_key("a")) == 0
        (await admission.admit(_key("a"), 10, 1)).release()

    _run(main)


def test_a_place_is_not_handed_to_somebody_who_was_just_cancelled() -> None:
    async def main() -> None:
        admission = _admission(max_streams=1)
        first = await admission.admit(_key("a"), 10, 1)
        cancelled, patient = (asyncio.create_task(admission.admit(_key("a"), 10, 1)) for _ in range(2))
        await _settle()
        cancelled.cancel()
        first.release()  # before the cancelled one can notice
        (await patient).release()

    _run(main)


def test_characters_of_a_minute_are_limited() -> None:
    async def main() -> None:
        admission = _admission(characters=100)
        await admission.spend(_key("a"), 60)
        with pytest.raises(RateLimitExceeded) as refused:
            await admission.spend(_key("b"), 60)
        assert 0 < (refused.value.retry_after or 0) <= 120  # two windows of a minute are weighed
        with pytest.raises(RateLimitExceeded):
            await admission.spend(_key("c", max_characters_per_minute=10), 11)
        with pytest.raises(RateLimitExceeded):
            await admission.admit(_key("d"), 60, 1)
        assert admission.count(_key("d")) == 0

    _run(main)


def test_a_key_with_limits_of_its_own_keeps_the_other_defaults() -> None:
    limits = _admission(max_streams=8, several_keys=True).limits_of(_key("a", max_waiting=3))
    assert limits == Limits(max_streams=6, max_waiting=3)


async def _admit_clip(admission: Admission, key: Principal, seconds: float = _LONG) -> Place:
    return await admission.admit(key, 10, seconds, live=False)


def test_clips_wait_beyond_the_time_of_a_stream() -> None:
    async def main() -> None:
        admission = _admission(max_streams=2, queue_seconds=0.01)
        first = await _admit_clip(admission, _key("a"))
        waiting = asyncio.create_task(_admit_clip(admission, _key("a")))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        first.release()
        (await waiting).release()

    _run(main)


def test_a_clip_is_refused_after_a_time_of_its_own() -> None:
    async def main() -> None:
        admission = _admission(max_streams=2, clip_queue_seconds=0.1)
        with await _admit_clip(admission, _key("a")), pytest.raises(Busy) as refused:
            await _admit_clip(admission, _key("a"))
        assert refused.value.retry_after

    _run(main)


@pytest.mark.parametrize(("own", "each_key"), [({"max_streams": 1}, KeyLimits()), ({}, KeyLimits(max_streams=1))])
def test_a_clip_beyond_a_limit_that_was_set_for_its_key_is_refused(own: dict[str, int], each_key: KeyLimits) -> None:
    async def main() -> None:
        admission = _admission(queue_seconds=0.1, each_key=each_key)
        with await _admit_clip(admission, _key("a", **own)), pytest.raises(TooManyConcurrentRequests):
            await _admit_clip(admission, _key("a", **own))

    _run(main)


def test_clips_keep_no_stream_from_the_engine() -> None:
    """However many there are, in work and waiting: streams are admitted as if there were none."""

    async def main() -> None:
        admission = _admission(max_streams=20, max_waiting=4, queue_seconds=0.1, real_time_factor=0.2)
        clips = [await _admit_clip(admission, _key("a")) for _ in range(10)]
        waiting = [asyncio.create_task(_admit_clip(admission, _key("a"))) for _ in range(4)]
        await _settle()
        with pytest.raises(Busy):
            await _admit_clip(admission, _key("b"))
        streams = [await admission.admit(_key("a"), 10, _LONG) for _ in range(3)]  # what the engine holds
        with pytest.raises(Busy):  # and one may wait, beside the clips
            await admission.admit(_key("a"), 10, _LONG)
        for place in [*streams, *clips]:
            place.release()
        for each in waiting:
            (await each).release()

    _run(main)


def test_streams_are_let_in_before_clips_that_came_earlier() -> None:
    async def main() -> None:
        admission = _admission(max_streams=1)
        first = await admission.admit(_key("a"), 10, 1)
        order = list[str]()

        async def take(name: str, live: bool) -> None:
            with await admission.admit(_key("a"), 10, 1, live=live):
                order.append(name)
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            for name, live in (("clip", False), ("stream", True)):
                tasks.create_task(take(name, live))
            await _settle()
            first.release()
        assert order == ["stream", "clip"]

    _run(main)


def test_one_of_several_keys_leaves_places_for_the_clips_of_others() -> None:
    async def main() -> None:
        admission = _admission(max_streams=8, clip_queue_seconds=0.1, several_keys=True)
        greedy = [await _admit_clip(admission, _key("greedy")) for _ in range(3)]
        with pytest.raises(Busy):
            await _admit_clip(admission, _key("greedy"))
        for place in [*greedy, await _admit_clip(admission, _key("modest"))]:
            place.release()

    _run(main)


def test_who_waits_is_let_in_when_the_engine_has_caught_up_though_nobody_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        monkeypatch.setattr("svc.admission.admission._POLL_SECONDS", 0.001)
        admission = _admission(real_time_factor=2)
        first = await admission.admit(_key("a"), 1_000, 1)
        waiting = asyncio.create_task(admission.admit(_key("a"), 1_000, 1))
        await _settle()
        assert not waiting.done()
        admission._speed.observe(work_seconds=1, audio_seconds=10_000)
        async with asyncio.timeout(120):
            (await waiting).release()
        first.release()

    _run(main)
