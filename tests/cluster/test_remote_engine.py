"""The engine that the API sees, with replicas that fail in every way."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ray.exceptions import ActorDiedError, RayTaskError

from bench.load.processes import wait_until
from svc.cluster.api_replica import share_workers
from svc.cluster.autoscaling import choose_replicas
from svc.cluster.engine_replica import STARVED
from svc.cluster.remote_engine import EngineDescription, RemoteEngine
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.errors import EngineUnavailable

_UTTERANCE = Utterance("a" * 200, np.ones((1, 256), dtype=np.float32), mask_offset=np.full(2408, 0.1, dtype=np.float32))
_WHOLE = list(FakeEngine().synthesize(_UTTERANCE))

Speak = Callable[[], AsyncIterator[Chunk]]


class _Handle:
    """A handle of Ray Serve whose calls are answered by one function after the other; the last one stays."""

    def __init__(self, *answers: Speak) -> None:
        self._answers = list(answers)
        self.calls = self.cancelled = 0

    def options(self, stream: bool) -> SimpleNamespace:
        return SimpleNamespace(speak=SimpleNamespace(remote=self._speak))

    @property
    def describe(self) -> SimpleNamespace:
        async def describe() -> EngineDescription:
            return EngineDescription("weights")

        return SimpleNamespace(remote=describe)

    def _speak(self, utterance: Utterance, due: object) -> "_Response":
        assert utterance.style.shape == (1, 256)
        assert np.array_equal(utterance.mask_offset, _UTTERANCE.mask_offset)
        self.calls += 1
        return _Response(self, (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])())


class _Response:
    def __init__(self, handle: _Handle, chunks: AsyncIterator[Chunk]) -> None:
        self._handle = handle
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self._chunks

    def cancel(self) -> None:
        self._handle.cancelled += 1


async def _speak() -> AsyncIterator[Chunk]:
    for chunk in _WHOLE:
        yield chunk


async def _speak_two_and_die() -> AsyncIterator[Chunk]:
    for chunk in _WHOLE[:2]:
        yield chunk
    raise ActorDiedError


async def _speak_in_other_chunks() -> AsyncIterator[Chunk]:
    """A replica of another release."""
    samples = np.concatenate([chunk.samples for chunk in _WHOLE])
    timings = [timing for chunk in _WHOLE for timing in chunk.timings]
    for start in range(0, 200, 25):
        seconds = 1440  # samples of a phoneme
        yield Chunk(samples[start * seconds : (start + 25) * seconds], tuple(timings[start : start + 25]))


async def _speak_one_and_hang() -> AsyncIterator[Chunk]:
    yield _WHOLE[0]
    await asyncio.sleep(1000)


async def _fail() -> AsyncIterator[Chunk]:
    raise RayTaskError("speak", "", ValueError("an unknown phoneme"))
    yield


@contextmanager
def _loaded(handle: Any, **seconds: float) -> Iterator[RemoteEngine]:
    engine = RemoteEngine(FakeEngine(), lambda: handle, **seconds)
    engine.load()
    try:
        yield engine
    finally:
        engine.close()


@pytest.mark.parametrize("rest", [_speak, _speak_in_other_chunks])
def test_a_replica_that_dies_is_not_heard(rest: Speak) -> None:
    handle = _Handle(_speak_two_and_die, _speak_two_and_die, rest)
    with _loaded(handle) as engine:
        chunks = list(engine.synthesize(_UTTERANCE))
    assert engine.fingerprint == "weights"
    assert handle.calls == 3
    assert np.array_equal(
        np.concatenate([chunk.samples for chunk in chunks]), np.concatenate([chunk.samples for chunk in _WHOLE])
    )
    assert [timing for chunk in chunks for timing in chunk.timings] == [
        timing for chunk in _WHOLE for timing in chunk.timings
    ]


def test_a_replica_that_hangs_is_given_up() -> None:
    handle = _Handle(_speak_one_and_hang, _speak)
    with _loaded(handle, chunk_seconds=0.5) as engine:
        assert len(list(engine.synthesize(_UTTERANCE))) == len(_WHOLE)
        wait_until(lambda: handle.cancelled == 1, 60, "the call was cancelled")


def test_an_engine_that_is_gone_is_an_error_in_the_end() -> None:
    handle = _Handle(_speak_two_and_die)
    with _loaded(handle, give_up_seconds=1.0) as engine, pytest.raises(EngineUnavailable):
        list(engine.synthesize(_UTTERANCE))
    assert handle.calls > 1


def test_a_failure_of_the_engine_itself_is_not_tried_again() -> None:
    handle = _Handle(_fail)
    with _loaded(handle) as engine, pytest.raises(ValueError, match="an unknown phoneme"):
        list(engine.synthesize(_UTTERANCE))
    assert handle.calls == 1


def test_closing_cancels_the_call() -> None:
    handle = _Handle(_speak_one_and_hang)
    with _loaded(handle) as engine:
        chunks = engine.synthesize(_UTTERANCE)
        next(chunks)
        assert handle.cancelled == 0
        chunks.close()  # type: ignore[attr-defined]
        wait_until(lambda: handle.cancelled == 1, 60, "the call was cancelled")


def test_workers_are_shared_out() -> None:
    assert share_workers(0, 2) == 0
    assert share_workers(8, 2) == 4
    assert share_workers(1, 3) == 1
    assert share_workers(4, 0) == 4  # this one is about to run


@pytest.mark.parametrize(
    ("requests", "starved", "wanted"), [(0, 0.0, 0), (3, 0.0, 1), (10, 0.0, 4), (1, 0.005, 1), (1, 0.2, 3)]
)
def test_replicas_follow_the_queue_and_missed_deadlines(requests: float, starved: float, wanted: int) -> None:
    context = SimpleNamespace(
        total_num_requests=requests,
        aggregated_metrics={STARVED: {"a": 0.0, "b": starved}},
        current_num_replicas=2,
        config=SimpleNamespace(get_target_ongoing_requests=lambda: 3.0),
    )
    assert choose_replicas(context) == (wanted, {})
