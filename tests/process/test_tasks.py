"""Background work is restarted when it fails, and its state can be seen."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

import pytest

from svc.process import tasks
from svc.process.tasks import Supervisor, TaskState, describe_error


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@pytest.fixture
def supervisor() -> Supervisor:
    return Supervisor(first_pause=0.001, longest_pause=0.004)


def fail_times(times: int, error: BaseException, calls: list[int]) -> Callable[[], Awaitable[None]]:
    """Work that fails so many times and then runs for ever."""

    async def work() -> None:
        calls.append(1)
        if len(calls) <= times:
            raise error
        await asyncio.Event().wait()

    return work


def test_work_that_fails_is_restarted(supervisor: Supervisor, caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    async def main() -> TaskState:
        async with supervisor.running("sweeping", fail_times(3, KeyError("dust"), calls)):
            await wait_until(lambda: len(calls) == 4)
            return supervisor.states()["sweeping"]

    state = asyncio.run(main())
    assert (state.state, state.failures, state.failures_total) == ("running", 3, 3)
    assert (state.error_type, state.error) == ("KeyError", "'dust'")
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False], "one traceback"
    assert all("sweeping" in record.message and "dust" in record.message for record in caplog.records)
    assert supervisor.states() == {}, "it has ended"


def test_work_that_returns_has_failed(supervisor: Supervisor) -> None:
    async def work() -> None:
        pass

    async def main() -> None:
        async with supervisor.running("sweeping", work):
            await wait_until(lambda: supervisor.states()["sweeping"].failures > 3)
            assert supervisor.states()["sweeping"].error_type == "TaskReturned"

    asyncio.run(main())


def test_something_cancelled_within_is_a_failure_and_not_the_end(supervisor: Supervisor) -> None:
    """As the future of an executor that was shut down."""

    async def work() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async def main() -> None:
        async with asyncio.timeout(60), supervisor.running("sweeping", work):
            await wait_until(lambda: supervisor.states()["sweeping"].failures > 2)

    asyncio.run(main())


def test_expected_failures_are_logged_without_a_traceback(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        calls: list[int] = []
        work = fail_times(2, ConnectionRefusedError(111, "refused"), calls)
        async with supervisor.running("sweeping", work, expected=(OSError,)):
            await wait_until(lambda: len(calls) == 3)

    asyncio.run(main())
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)] * 2


def test_pauses_grow_and_begin_again_once_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    loops: list[asyncio.AbstractEventLoop] = []
    outcomes = iter([False, False, False, True, False, True])
    sleep = asyncio.sleep

    async def record(seconds: float) -> None:
        elsewhere = asyncio.get_running_loop() is not loops[0]  # a server of another test, in its own thread
        if not elsewhere:
            pauses.append(seconds)
        await sleep(seconds if elsewhere else 0)

    async def work() -> None:
        if (outcome := next(outcomes, None)) is None:
            await asyncio.Event().wait()
        if not outcome:
            raise OSError("no")

    async def main() -> None:
        supervisor = Supervisor(first_pause=1.0, longest_pause=3.0)
        loops.append(asyncio.get_running_loop())
        monkeypatch.setattr(random, "uniform", lambda _, high: high)
        monkeypatch.setattr(asyncio, "sleep", record)
        async with supervisor.repeating("sweeping", work, 10.0):
            while len(pauses) < 6:
                await sleep(0.001)
            assert supervisor.states()["sweeping"].failures == 0
            assert supervisor.states()["sweeping"].failures_total == 4
            assert supervisor.states()["sweeping"].error is None

    asyncio.run(main())
    assert pauses == [1.0, 2.0, 3.0, 10.0, 1.0, 10.0]


def test_work_that_ran_for_a_while_has_recovered(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tasks, "_WELL_SECONDS", 0.01)
    caplog.set_level(logging.INFO)

    async def main() -> None:
        async with supervisor.running("sweeping", fail_times(2, OSError("no"), [])):
            await wait_until(lambda: supervisor.states()["sweeping"].failures == 2)
            await wait_until(lambda: supervisor.states()["sweeping"].failures == 0)

    asyncio.run(main())
    assert "works again after 2 failures" in caplog.text


def test_leaving_the_block_ends_the_work_also_in_a_pause() -> None:
    async def work() -> None:
        raise OSError("no")

    async def main() -> None:
        supervisor = Supervisor(first_pause=3_600.0)
        async with asyncio.timeout(60), supervisor.running("sweeping", work):
            await wait_until(lambda: supervisor.states()["sweeping"].state == "restarting")

    asyncio.run(main())


def test_a_message_is_short_and_keeps_secrets() -> None:
    error = OSError("GET https://key:secret@host/a?X-Amz-Signature=secret failed\n" + 500 * "x")
    described = describe_error(error)
    assert described.startswith("GET https://host/a failed x")
    assert len(described) <= 200
    assert "secret" not in described


def test_a_cancellation_that_is_lost_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_CANCEL_SECONDS", 0.01)
    lost: list[int] = []

    async def work() -> None:
        while len(lost) < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost.append(1)
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.timeout(60), tasks.run_in_background(work()):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert len(lost) == 2
