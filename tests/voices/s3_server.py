"""Real S3 servers on the loopback interface (rclone's and moto's), and a proxy that injects failures."""

import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal

import obstore
from obstore.store import S3Store

_RCLONE = Path(sys.executable).with_name("rclone")
_MOTO = Path(sys.executable).with_name("moto_server")
KEY_ID, SECRET = "an-access-key-of-the-tests", "a-secret-key-of-the-tests"
BUCKET = "bucket"


def free_port() -> int:
    """A port outside the ephemeral range.

    Within it, a client that retries a port while its server is down may connect to itself, which takes the port.
    """
    while True:
        port = random.randrange(20_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class S3Server:
    """Keeps its objects as files below `folder`, so that they survive its restart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / BUCKET).mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, largest_file: int | None = None) -> None:
        """With `largest_file` in bytes, larger files fail as on a full disk."""

        def limit() -> None:
            if largest_file is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        address = ["--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY_ID},{SECRET}"]
        self._process = subprocess.Popen(
            [_RCLONE, "serve", "s3", *address, "--config", "", "--log-level", "ERROR", self.folder],
            stderr=subprocess.DEVNULL,
            preexec_fn=limit,
        )
        deadline = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            assert self._process.poll() is None, "the S3 server stopped"
            assert time.monotonic() < deadline, "the S3 server did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def objects(self) -> set[str]:
        return {str(each["path"]) for found in obstore.list(open_bucket(self.port)) for each in found}

    def get(self, path: str) -> bytes:
        return bytes(obstore.get(open_bucket(self.port), path).bytes())

    def put(self, path: str, content: bytes) -> None:
        obstore.put(open_bucket(self.port), path, content)

    def delete(self, path: str) -> None:
        obstore.delete(open_bucket(self.port), path)


def open_bucket(port: int, timeout: float = 10.0) -> S3Store:
    return S3Store(
        BUCKET,
        prefix="ours",
        endpoint=f"http://127.0.0.1:{port}",
        access_key_id=KEY_ID,
        secret_access_key=SECRET,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, "timeout": timedelta(seconds=timeout)},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=timeout)},
    )


def environment(port: int) -> dict[str, str]:
    """The environment variables of a service that syncs with this store."""
    return {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }


@contextmanager
def serve_conditional_s3() -> Iterator[int]:
    """The port of an S3 server that compares before it replaces, which rclone's does not: moto's, in memory."""
    port = free_port()
    process = subprocess.Popen(
        [_MOTO, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            with suppress(OSError):
                bucket = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
                urllib.request.urlopen(bucket, timeout=10).close()
                break
            assert process.poll() is None, "the S3 server stopped"
            assert time.monotonic() < deadline, "the S3 server did not start"
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


class FailingProxy:
    """Forwards to a server, or hangs, cuts the connection, or answers with an error itself."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.mode: Literal["none", "hang", "cut", "500", "503", "507"] = "none"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for each in self._open:
            with suppress(OSError):
                each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._serve, args=(client, self.mode), daemon=True).start()

    def _serve(self, client: socket.socket, mode: str) -> None:
        with suppress(OSError):
            if mode == "hang":
                return  # the connection stays open without an answer
            if mode.isdigit():
                client.recv(65_536)
                client.sendall(f"HTTP/1.1 {mode} Failure\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                client.close()
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open.append(server)
            threading.Thread(target=_forward, args=(server, client, None), daemon=True).start()
            _forward(client, server, 1_000 if mode == "cut" else None)


def _forward(source: socket.socket, target: socket.socket, limit: int | None) -> None:
    with suppress(OSError):
        forwarded = 0
        while data := source.recv(65_536):
            forwarded += len(data)
            if limit is not None and forwarded > limit:
                break
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
