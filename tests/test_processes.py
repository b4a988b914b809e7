"""The supervisor of several processes: who has ended is started again, and its news are published."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svc.serving import processes
from svc.serving.processes import _Child, _Supervisor
from svc.settings import Settings


class _StandIn:
    """A process that ends when a test says so."""

    def __init__(self, *_: object) -> None:
        self.told: Any = None
        self.exit_status: int | None = None
        self.starts = self.terminations = 0

    def start(self) -> None:
        self.starts += 1
        self.exit_status = None

    def list_events(self) -> list[object]:
        return []

    def receive(self) -> bool:
        return False

    def terminate(self) -> None:
        self.terminations += 1


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Supervisor:
    monkeypatch.setattr(processes, "_Child", _StandIn)
    monkeypatch.setattr(processes, "_POLL_SECONDS", 0.0)
    return _Supervisor(Settings(processes=2, engine_processes=2), tmp_path / "engines")


@pytest.mark.parametrize("which", [lambda each: each._servers[1], lambda each: each._engines[0]])
@pytest.mark.parametrize("status", [0, -9, 3])
def test_a_process_that_ends_is_started_again(
    which: Callable[[_Supervisor], Any], status: int, supervisor: _Supervisor
) -> None:
    child = which(supervisor)
    for starts in (1, 2):
        child.exit_status = status
        supervisor._watch()
        assert child.starts == starts
        supervisor._watch()
        assert child.starts == starts, "it runs"
    others = {*supervisor._servers, *supervisor._engines} - {child}
    assert all(other.starts == 0 for other in others)  # type: ignore[attr-defined]


def test_where_one_cannot_start_all_end(supervisor: _Supervisor) -> None:
    failed: Any = supervisor._servers[0]
    failed.exit_status = processes._FAILED
    supervisor._watch()
    assert failed.starts == 0
    assert supervisor._ended.is_set()
    assert all(child.terminations == 1 for child in supervisor._servers)  # type: ignore[attr-defined]


def test_at_the_end_nobody_is_started_again(supervisor: _Supervisor) -> None:
    child: Any = supervisor._servers[0]
    supervisor._ended.set()
    child.exit_status = 0
    supervisor._watch()
    assert child.starts == 0


def test_a_pipe_that_was_closed_is_not_read_again() -> None:
    child: Any = _Child(print)
    child._pipe, theirs = processes._context.Pipe(duplex=False)
    theirs.send("news")
    assert child.receive()
    assert child.told == "news"
    assert not child.receive(), "there is nothing new"
    theirs.close()
    for _ in range(2):
        assert not child.receive()
        assert child._pipe.closed
    assert child.told == "news"
