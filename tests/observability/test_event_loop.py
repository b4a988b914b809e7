"""Stalls of the event loop are seen, however they come about."""

import asyncio
import time
from contextlib import nullcontext

import pytest

from svc.observability.event_loop import EventLoopMonitor


async def _observe_stall(monitor: EventLoopMonitor, seconds: float) -> None:
    task = asyncio.create_task(monitor.run())
    await asyncio.sleep(0.3)
    time.sleep(seconds)  # noqa: ASYNC251
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.wait({task})


def test_a_stall_between_two_observations_is_seen_in_full() -> None:
    stalls: list[float] = []
    monitor = EventLoopMonitor(stalls.append)
    asyncio.run(_observe_stall(monitor, 0.05))
    assert max(stalls) >= 0.05
    assert monitor.longest() == max(stalls)


def test_a_loop_without_a_selector_is_observed_by_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    stalls: list[float] = []
    monitor = EventLoopMonitor(stalls.append)
    monkeypatch.setattr(monitor, "_time_turns", nullcontext)
    asyncio.run(_observe_stall(monitor, 0.5))
    assert max(stalls) >= 0.3


def test_only_the_last_minute_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = EventLoopMonitor(lambda stall: None)
    asyncio.run(_observe_stall(monitor, 0.05))
    assert monitor.longest() >= 0.05
    now = time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: now + 120)
    assert monitor.longest() == 0
