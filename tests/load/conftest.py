"""A server on the loopback interface, with an engine that takes its time, and the tracebacks that it logs."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.serving.server import create_server
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

_LOGGERS = ("svc", "uvicorn.error", "asyncio")


class Tracebacks(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0]:
            self.found.append(logging.Formatter().format(record))


@pytest.fixture
def tracebacks() -> Tracebacks:
    return Tracebacks()


@pytest.fixture
def serve(phonemizer: Phonemizer, tracebacks: Tracebacks) -> Iterator[Callable[..., str]]:
    """Starts a server with these settings, as keyword arguments; its address."""
    with ExitStack() as servers:
        yield lambda **settings: servers.enter_context(_serve(Settings(**settings), phonemizer, tracebacks))


@contextmanager
def _serve(settings: Settings, phonemizer: Phonemizer, tracebacks: Tracebacks) -> Iterator[str]:
    server = create_server(create_app(settings, Pipeline(FakeEngine(work=0.005), phonemizer)), settings)
    server.config.port = 0
    for name in _LOGGERS:  # after uvicorn has set up its own handlers
        logging.getLogger(name).addHandler(tracebacks)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        while httpx.get(f"{address}/health").status_code != 200:
            time.sleep(0.01)
        yield address
    finally:
        server.should_exit = True
        thread.join()
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(tracebacks)
