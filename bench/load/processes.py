"""`svc serve` in a process of its own, with its own data and log, that can be killed and started again."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import randrange
from tempfile import TemporaryDirectory

_READY_WITHIN = 300.0
_STOPS_WITHIN = 60.0
_TRACEBACK = "Traceback (most recent call last)"


class ServerProcess:
    """Its port stays the same, so that clients find it again after a restart."""

    def __init__(
        self, folder: Path, engine: str, environment: Mapping[str, str] | None = None, **settings: object
    ) -> None:
        """`settings` are those of the service, by the names of their fields; `environment` is what others read."""
        self.arguments: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.data = folder / "data"
        self.log = folder / "server.log"
        own = {"engine": engine, "data_dir": self.data, "cache_dir": folder / "cache", **settings}
        outside = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        self._environment = (
            outside | dict(environment or {}) | {f"SVC_{name.upper()}": str(value) for name, value in own.items()}
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def start(self, wait: bool = True) -> None:
        command = [
            sys.executable,
            "-c",
            "from svc.cli.main import main; main()",  # the command `svc`, where it is not installed either
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            *self.arguments,
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self, seconds: float = _READY_WITHIN) -> None:
        def check() -> bool:
            if not self.alive():
                raise RuntimeError(f"svc serve did not start:\n{self.read_log()[-2000:]}")
            with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                return bool(urllib.request.urlopen(f"{self.address}/health", timeout=5).status == 200)
            return False

        wait_until(check, seconds, "the engine is ready")

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """kill -9."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> None:
        """SIGTERM."""
        assert self._process
        self._process.terminate()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.terminate()
        return self.wait(_STOPS_WITHIN)

    def wait(self, seconds: float) -> int:
        """The exit status; after so many seconds, the process is killed."""
        assert self._process
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return -9

    def resident_megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def read_log(self, position: int = 0) -> str:
        with self.log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def count_tracebacks(self, position: int = 0) -> int:
        return self.read_log(position).count(_TRACEBACK)


@contextmanager
def run(engine: str, **settings: object) -> Iterator[ServerProcess]:
    """A server that is ready; its data is removed with it."""
    with TemporaryDirectory(prefix="svc-load-") as folder:
        server = ServerProcess(Path(folder), engine, None, **settings)
        try:
            server.start()
            yield server
        finally:
            if server.alive():
                server.stop()


def free_port() -> int:
    """A port outside the ephemeral range, in which a client that retries might connect to itself."""
    while True:
        port = randrange(20_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def wait_until(check: Callable[[], bool], seconds: float, what: str, *, every: float = 0.1) -> None:
    """Raises `TimeoutError` if the check does not succeed in time."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
