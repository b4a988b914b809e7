"""Several processes that serve one port: one interpreter cannot read, encode and send what a GPU or many cores speak.

Each is a whole server, with an engine and a queue of its own; Linux deals out the connections. They share what servers
on one machine always do: the data folder, and with SVC_REDIS_URL the limits.
"""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

log = logging.getLogger(__name__)

Serve = Callable[[int], None]

_RESTART_SECONDS = 1.0
_FAILED = 1  # the exit status of one that could not start
_context = multiprocessing.get_context("spawn")


def run(serve: Serve, count: int) -> None:
    """Calls `serve` with 0, 1, … in as many processes, and again in place of one that dies, until SIGTERM or SIGINT."""
    ended = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        ended.set()
        for process in running.values():
            process.terminate()  # drains it; a second time, it ends at once

    running = {number: _start(serve, number) for number in range(count)}
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, end)
    while any(process.is_alive() for process in running.values()):
        wait([process.sentinel for process in running.values() if process.is_alive()], timeout=_RESTART_SECONDS)
        for number, process in running.items():
            if ended.is_set() or process.is_alive():
                continue
            if process.exitcode == _FAILED:  # so would the next one
                end(signal.SIGTERM, None)
                break
            log.error("the server process %d has ended with %s and is started again", number, process.exitcode)
            running[number] = _start(serve, number)
    if any(process.exitcode for process in running.values()):
        raise SystemExit(_FAILED)


def _start(serve: Serve, number: int) -> SpawnProcess:
    process = _context.Process(target=_run_child, args=[serve, number], name=f"server-{number}")
    process.start()
    return process


def _run_child(serve: Serve, number: int) -> None:
    os.setpgrp()  # a Ctrl+C of the terminal would come twice
    threading.Thread(target=_follow_parent, daemon=True).start()
    serve(number)


def _follow_parent() -> None:
    """Ends this process when the one that started it was killed."""
    parent = multiprocessing.parent_process()
    assert parent
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
