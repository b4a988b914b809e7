"""Who is connected: so many at most, and each is told when the server shuts down."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from svc.errors import ShuttingDown, TooManySockets


class Leaver(Protocol):
    def leave(self) -> None:
        """Finish what was promised, and go."""


class Connections:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._connected: set[Leaver] = set()
        self._closing = False
        self._empty = asyncio.Event()

    def __len__(self) -> int:
        return len(self._connected)

    def require_place(self) -> None:
        if self._closing:
            raise ShuttingDown
        if len(self._connected) >= self._limit:
            raise TooManySockets(self._limit)

    @contextmanager
    def connected(self, session: Leaver) -> Iterator[None]:
        self._connected.add(session)
        self._empty.clear()
        try:
            yield
        finally:
            self._connected.discard(session)
            if not self._connected:
                self._empty.set()

    async def close(self, seconds: float) -> None:
        """Lets nobody in any more, and gives everybody so much time to finish."""
        self._closing = True
        for session in tuple(self._connected):
            session.leave()
        if self._connected:
            try:
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
            except TimeoutError:
                pass  # whoever is left is cut off by the server
