"""The open sockets: at most so many of each protocol and each key, and each is drained when the server shuts down."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from svc.auth.keys import Principal
from svc.errors import TooManySockets

WEBSOCKET, WYOMING = "websocket", "wyoming"

log = logging.getLogger(__name__)


class Connection(Protocol):
    principal: Principal | None
    """Who has opened it; None as long as that is not known."""

    @property
    def protocol(self) -> str: ...

    @property
    def makes_way(self) -> bool:
        """Whether it may be closed for another one, as nobody would miss it."""

    def drain(self) -> None:
        """Finish what was flushed, then end."""

    def evict(self) -> None:
        """End, to make room for another."""


class Connections:
    """When the limit is reached, the socket that makes way and was opened first is closed for the new one."""

    def __init__(self, limits: Mapping[str, int], key_limit: int) -> None:
        """`limits` are those of the protocols; `key_limit` is that of a key that has none of its own."""
        self._limits = limits
        self._key_limit = key_limit
        self._connected: dict[Connection, None] = {}  # in the order in which they were opened
        self._empty = asyncio.Event()

    def __len__(self) -> int:
        return len(self._connected)

    def require_capacity(self, protocol: str, principal: Principal | None = None) -> None:
        """Raises if there are too many, also of the key, if it is known."""
        if principal:
            self._require_share(principal)
        if self._is_full(protocol) and self._find_one_that_makes_way(protocol) is None:
            raise TooManySockets(self._limits[protocol])

    @contextmanager
    def register(self, session: Connection) -> Iterator[None]:
        """Counts the socket as open; raises if there are too many."""
        self.require_capacity(session.protocol, session.principal)
        if self._is_full(session.protocol) and (other := self._find_one_that_makes_way(session.protocol)):
            self._remove(other)  # at once: its client may take a while to answer the close
            other.evict()
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

    def identify(self, session: Connection, principal: Principal) -> None:
        """It is known now who has opened a socket; raises if they have too many."""
        if session.principal is None:
            self._require_share(principal)
        session.principal = principal

    def _require_share(self, principal: Principal) -> None:
        limit = self._key_limit if principal.limits.max_sockets is None else principal.limits.max_sockets
        own = sum(each.principal is not None and each.principal.key_id == principal.key_id for each in self._connected)
        if own >= limit:
            raise TooManySockets(limit, of_key=True)

    def _is_full(self, protocol: str) -> bool:
        return sum(each.protocol == protocol for each in self._connected) >= self._limits[protocol]

    def _find_one_that_makes_way(self, protocol: str) -> Connection | None:
        return next((each for each in self._connected if each.protocol == protocol and each.makes_way), None)

    def _remove(self, session: Connection) -> None:
        self._connected.pop(session, None)
        if not self._connected:
            self._empty.set()
