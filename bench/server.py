"""Runs `svc serve` in a process of its own, with a minimal HTTP client."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.worker import resident_megabytes

_READY_WITHIN = 300.0


@dataclass(frozen=True, slots=True)
class Server:
    pid: int
    address: str

    def stream(self, voice: str, output_format: str, body: dict[str, Any]) -> Iterator[bytes]:
        """The chunks of a `/stream` response exactly as the server sent them, which HTTP libraries hide."""
        content = json.dumps(body).encode()
        url = urlsplit(self.address)
        head = (
            f"POST /v1/text-to-speech/{voice}/stream?output_format={output_format} HTTP/1.1\r\n"
            f"Host: {url.netloc}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n"
        )
        with socket.create_connection((url.hostname, url.port)) as connection:
            connection.sendall(head.encode() + content)
            with connection.makefile("rb") as response:
                status = response.readline().decode().strip()
                while response.readline().strip():
                    pass
                if " 200 " not in status:
                    raise RuntimeError(f"the server answered {status}")
                while size := int(response.readline(), 16):
                    yield response.read(size)
                    response.readline()

    def resident_megabytes(self) -> float:
        return resident_megabytes(self.pid)

    def cpu_seconds(self) -> float:
        """CPU time of the process and of those that it has started, so far, over all cores."""
        parents, ticks = {}, {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has just ended
                after_name = file.read_text().rpartition(")")[2].split()
                parents[int(file.parent.name)] = int(after_name[1])
                ticks[int(file.parent.name)] = int(after_name[11]) + int(after_name[12])
        family = [pid for pid in ticks if self.pid in (pid, parents[pid])]
        return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_server(engine: str | None = None) -> Iterator[Server]:
    """Starts the service on a free port, waits until its engine is ready, and stops it afterwards.

    With an engine of the service, by default that of the settings, or `kokoro`.
    """
    environment = {**os.environ, "SVC_ENGINE": engine} if engine and engine != "kokoro" else None
    # The command `svc`, where it is not installed either.
    svc = ["-c", "from svc.cli.main import main; main()", "serve"]
    program = ["-m", "bench.kokoro_server"] if engine == "kokoro" else svc
    command = [sys.executable, *program, "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout
        line = process.stdout.readline()
        if "http://" not in line:
            raise SystemExit("svc serve did not start")
        server = Server(process.pid, line.split()[-1])
        _wait_until_ready(server.address)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/health"):
                return
        except urllib.error.HTTPError:  # 503 while the engine loads
            time.sleep(0.2)
    raise SystemExit(f"the engine was not ready within {_READY_WITHIN:.0f} s")
