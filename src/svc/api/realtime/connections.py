"""The open sockets: at most so many, and each is drained when the server shuts down."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from svc.errors import ShuttingDown, TooManySockets


class Drainable(Protocol):
    def drain(self) -> None:
        """Finish what was flushed, then end."""


class Connections:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._connected: set[Drainable] = set()
        self._closing = False
        self._empty = asyncio.Event()

    def __len__(self) -> int:
        return len(self._connected)

    def require_capacity(self) -> None:
        if self._closing:
            raise ShuttingDown
        if len(self._connected) >= self._limit:
            raise TooManySockets(self._limit)

    @contextmanager
    def register(self, session: Drainable) -> Iterator[None]:
        self._connected.add(session)
        self._empty.clear()
        try:
            yield
        finally:
            self._connected.discard(session)
            if not self._connected:
                self._empty.set()

    async def close(self, seconds: float) -> None:
        """Refuses new sockets, and gives the open ones so many seconds to finish."""
        self._closing = True
        for session in tuple(self._connected):
            session.drain()
        if self._connected:
            try:
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
            except TimeoutError:
                pass  # the server cuts off those that are left
