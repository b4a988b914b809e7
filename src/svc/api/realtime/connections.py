"""The open sockets: at most so many, and each is drained when the server shuts down."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from svc.errors import TooManySockets

log = logging.getLogger(__name__)


class Connection(Protocol):
    @property
    def is_silent(self) -> bool:
        """Whether it is neither authenticated nor has ever sent a valid message."""

    def drain(self) -> None:
        """Finish what was flushed, then end."""

    def evict(self) -> None:
        """End, to make room for another."""


class Connections:
    """When the limit is reached, the silent socket that was opened first is closed for the new one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._connected: dict[Connection, None] = {}  # in the order in which they were opened
        self._empty = asyncio.Event()

    def __len__(self) -> int:
        return len(self._connected)

    def require_capacity(self) -> None:
        if len(self._connected) >= self._limit and self._find_silent() is None:
            raise TooManySockets(self._limit)

    @contextmanager
    def register(self, session: Connection) -> Iterator[None]:
        """Counts the socket as open; raises if there are too many."""
        self.require_capacity()
        if len(self._connected) >= self._limit and (silent := self._find_silent()):
            self._remove(silent)  # at once: its client may take a while to answer the close
            silent.evict()
        self._connected[session] = None
        self._empty.clear()
        try:
            yield
        finally:
            self._remove(session)

    def drain(self) -> None:
        """Asks all sockets to finish what was flushed. One that fails at it does not keep the others from ending."""
        for session in tuple(self._connected):
            try:
                session.drain()
            except Exception:
                log.exception("a socket could not be drained")

    async def close(self, seconds: float) -> None:
        """Drains the sockets, and gives them so many seconds."""
        self.drain()
        if self._connected:
            try:
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
            except TimeoutError:
                pass  # the server cuts off those that are left

    def _find_silent(self) -> Connection | None:
        return next((session for session in self._connected if session.is_silent), None)

    def _remove(self, session: Connection) -> None:
        self._connected.pop(session, None)
        if not self._connected:
            self._empty.set()
