"""`svc serve` with several processes on one machine: one interpreter cannot read, encode and send what a GPU or many
cores speak.

Some are servers on one port, among which Linux deals out the connections. The others have the engine, on a GPU one of
them: a server sends each utterance to the one that has the least to do. One that dies is replaced.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import msgspec

from svc.app import create_app
from svc.errors import SvcError
from svc.observability import logs
from svc.process import memory
from svc.remote.engine_host import EngineHost
from svc.remote.pronouncer import RemotePronouncer
from svc.remote.remote_engine import RemoteEngine
from svc.remote.replicas import Replicas, share_workers
from svc.remote.wire import EngineDescription
from svc.service import create_engine
from svc.serving.server import create_server, open_socket
from svc.settings import Settings
from svc.storage import atomic_files
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

log = logging.getLogger(__name__)

_CHUNK_SECONDS = 30.0
_POLL_SECONDS = 1.0
_FAILED = 1  # the exit status of one that could not start
_context = multiprocessing.get_context("spawn")


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT."""
    with (
        TemporaryDirectory(prefix="svc-") as folder,
        # Keeps the port for the servers, also while none is there, and chooses it if any will do.
        open_socket(settings.host, settings.port, "--port", share_port=True) as reserved,
    ):
        chosen = settings.model_copy(update={"port": reserved.getsockname()[1]})
        _Supervisor(chosen, Path(folder) / "engines").run()


class _Supervisor:
    def __init__(self, settings: Settings, file: Path) -> None:
        """`file` tells the servers where the engines are."""
        self._settings, self._file = settings, file
        self._engines = [_Child(_run_engine, settings, number) for number in range(settings.engine_processes)]
        self._servers = [_Child(_run_server, settings, number, file) for number in range(settings.processes)]
        self._ended = threading.Event()

    def run(self) -> None:
        self._publish()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._end)
        for child in (*self._engines, *self._servers):
            child.start()
        while not self._ended.is_set():
            self._watch()
        _join(self._servers)  # they need the engines for what they have begun
        for child in self._engines:
            child.terminate()
        _join(self._engines)
        if any(child.exit_status == _FAILED for child in self._servers):
            raise SystemExit(_FAILED)

    def _end(self, number: int, _: FrameType | None) -> None:
        self._ended.set()
        for child in self._servers:
            child.terminate()  # drains it; a second time, it ends at once

    def _watch(self) -> None:
        children = [*self._engines, *self._servers]
        wait([each for child in children for each in child.list_events()], timeout=_POLL_SECONDS)
        news = [child.receive() for child in self._engines]
        if any(news):
            self._publish()
        for child in children:
            if child.exit_status is None or self._ended.is_set():
                continue
            if child.exit_status == _FAILED:  # so would the next one
                self._end(signal.SIGTERM, None)
                return
            log.error("a process of the service has ended with %s and is started again", child.exit_status)
            child.start()
            self._publish()

    def _publish(self) -> None:
        atomic_files.write(self._file, msgspec.msgpack.encode([each.told for each in self._engines if each.told]))


class _Child:
    """A process, which may tell something once it runs."""

    def __init__(self, run: Callable[..., None], *args: object) -> None:
        self._run, self._args = run, args
        self.told: EngineDescription | None = None

    def start(self) -> None:
        self.told = None
        self._pipe, theirs = _context.Pipe(duplex=False)
        self._process: SpawnProcess = _context.Process(target=_run_child, args=(self._run, *self._args, theirs))
        self._process.start()
        theirs.close()

    @property
    def exit_status(self) -> int | None:
        return self._process.exitcode

    def list_events(self) -> list[Connection | int]:
        return [self._process.sentinel, *([] if self._pipe.closed else [self._pipe])]

    def receive(self) -> bool:
        """Whether it has told something new."""
        if self._pipe.closed or not self._pipe.poll():
            return False
        try:
            self.told = self._pipe.recv()
        except EOFError:
            self._pipe.close()
            return False
        return True

    def terminate(self) -> None:
        self._process.terminate()

    def join(self) -> None:
        self._process.join()


def _join(children: list[_Child]) -> None:
    for child in children:
        child.join()


def _run_child(run: Callable[..., None], settings: Settings, *args: object) -> None:
    os.setpgrp()  # a Ctrl+C of the terminal would come twice
    threading.Thread(target=_follow_parent, daemon=True).start()
    logs.configure(settings.log_format)
    try:
        run(settings, *args)
    except SvcError as error:  # of the settings, as far as no field can see it: one line is enough
        log.error("%s", error)
        sys.exit(_FAILED)


def _follow_parent() -> None:
    """Ends this process when the one that started it was killed."""
    parent = multiprocessing.parent_process()
    assert parent
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _run_engine(settings: Settings, number: int, pipe: Connection) -> None:
    async def serve() -> None:
        ended = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, ended.set)
        phonemizer = Phonemizer(settings.cache_dir) if _pronounces_in_engines(settings) else None
        host = EngineHost(create_engine(settings), settings.workers, phonemizer)
        pipe.send(await host.start("127.0.0.1"))
        await ended.wait()
        await host.drain(settings.shutdown_seconds)

    asyncio.run(serve())
    os._exit(0)  # threads that wait for a device that hangs would keep it


def _pronounces_in_engines(settings: Settings) -> bool:
    """Where there are more of them than servers, which have enough to do with requests and audio."""
    return settings.engine_processes > settings.processes


def _run_server(settings: Settings, number: int, file: Path, pipe: Connection) -> None:
    def read() -> list[EngineDescription]:
        return msgspec.msgpack.decode(file.read_bytes(), type=list[EngineDescription])

    async def find() -> list[EngineDescription]:
        return await asyncio.to_thread(read)

    async def count_workers() -> int:
        return share_workers(settings.workers * len(await find()), settings.processes)

    replicas, phonemizer = Replicas(find, _CHUNK_SECONDS), Phonemizer(settings.cache_dir)
    engine = RemoteEngine(create_engine(settings), replicas)
    pronouncer = RemotePronouncer(replicas, phonemizer) if _pronounces_in_engines(settings) else None
    pipeline = Pipeline(engine, phonemizer, settings.watermark, settings.max_audio_seconds, pronouncer)
    wyoming = None
    if settings.wyoming_port is not None:
        wyoming = open_socket(settings.host, settings.wyoming_port, "SVC_WYOMING_PORT", share_port=True)
    app = create_app(settings, pipeline, after_load=memory.freeze, wyoming_socket=wyoming, count_workers=count_workers)
    app.openapi()  # is kept: made for the first who asks, it would hold up all others
    app.state.lifecycle.on_drain(engine.stop_waiting)
    with open_socket(settings.host, settings.port, "--port", share_port=True) as listening:
        # The first one prints the address.
        asyncio.run(create_server(app, settings, share_port=True, silent=number > 0).serve([listening]))
    engine.close()
