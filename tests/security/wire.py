"""Clients that speak HTTP by hand, byte by byte, as an attacker would."""

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

PATH = "/v1/text-to-speech/af_heart"
LONG = "This is a long sentence that goes on and on. " * 800


def dial(address: str, small: bool = False) -> socket.socket:
    """A connection to a server; `small` gives it the smallest receive buffer there is."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.socket()
    if small:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(120)
    connection.connect((host, int(port)))
    return connection


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"", version: str = "1.1"
) -> bytes:
    given = {"host": "localhost", **({"content-length": str(len(body))} if body else {}), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/{version}\r\n{lines}\r\n".encode("latin-1") + body


def speak(text: str = "Hello.", path: str = f"{PATH}/stream?output_format=pcm_48000", **more: Any) -> bytes:
    return request("POST", path, {"content-type": "application/json"}, json.dumps({"text": text}).encode(), **more)


def read_rest(connection: socket.socket) -> bytes:
    """What comes until the server ends the connection, in either way."""
    received = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            received += data
    return received


def exchange(address: str, raw: bytes) -> tuple[int, Any]:
    """The status and the JSON of the only response to some bytes; the server has to end the connection."""
    with dial(address) as connection:
        connection.sendall(raw)
        head, _, body = read_rest(connection).partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status, json.loads(body) if b"application/json" in head else None
