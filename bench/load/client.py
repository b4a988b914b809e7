"""A client that costs little: HTTP over asyncio's streams, and the figures of `/metrics`."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

VOICE = "af_heart"


class Incomplete(Exception):
    """The connection closed before the response was whole."""


@dataclass(slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises `Incomplete` if its end does not."""
        try:
            if self.headers.get("transfer-encoding") == "chunked":
                while size := int(await self.reader.readuntil(b"\r\n"), 16):
                    yield (await self.reader.readexactly(size + 2))[:-2]
                await self.reader.readexactly(2)
                return
            left = int(self.headers.get("content-length", 0))
            while left:
                part = await self.reader.read(min(left, 2**16))
                if not part:
                    raise Incomplete
                left -= len(part)
                yield part
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            raise Incomplete from error

    def hang_up(self) -> None:
        self.writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def build_head(address: str, method: str, path: str, content: bytes, kind: str, key: str | None) -> bytes:
    credential = f"xi-api-key: {key}\r\n" if key else ""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nContent-Type: {kind}\r\n{credential}"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    ).encode()


@asynccontextmanager
async def open_response(
    address: str,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    key: str | None = None,
    kind: str = "application/json",
) -> AsyncIterator[Response]:
    """Sends a request on a connection of its own; `body` is bytes, or becomes JSON."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=2**20)
    try:
        writer.write(build_head(address, method, path, content, kind, key) + content)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Incomplete from error
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        yield Response(int(head[0].split()[1]), headers, reader, writer)
    finally:
        writer.transport.abort()


async def request(
    address: str,
    path: str,
    body: Any = None,
    *,
    method: str = "GET",
    key: str | None = None,
    kind: str = "application/json",
) -> Answer:
    """The whole answer."""
    async with open_response(address, path, body, method=method, key=key, kind=kind) as response:
        return Answer(response.status, response.headers, b"".join([chunk async for chunk in response.chunks()]))


async def post(address: str, path: str, body: Any, *, key: str | None = None) -> Answer:
    return await request(address, path, body, method="POST", key=key)


class Figures:
    """The samples of `/metrics` at one moment; those with labels are added up."""

    def __init__(self, text: str) -> None:
        self._values: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._values[sample.name] = self._values.get(sample.name, 0.0) + sample.value

    def get(self, name: str) -> float | None:
        """None if this server has no such figure."""
        return self._values.get(name)

    def longest_stall(self) -> float | None:
        """Of the event loop in the last minute, in seconds."""
        return self.get("svc_event_loop_stall_max_seconds")


async def read_figures(address: str, key: str | None = None) -> Figures:
    return Figures((await request(address, "/metrics", key=key)).body.decode())
