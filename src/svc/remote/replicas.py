"""The replicas of the engine that there are, and the connections to them."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from svc.remote.wire import Connection, EngineDescription

FindReplicas = Callable[[], Awaitable[list[EngineDescription]]]
"""Those that there are; none if that cannot be told now."""

_FIND_SECONDS = 1.0
LOST = (OSError, EOFError)


class NoReplica(ConnectionError):
    pass


@dataclass(slots=True, eq=False)
class _Replica:
    description: EngineDescription
    busy: int = 0
    lost: bool = False
    idle: list[Connection] = field(default_factory=list)


class Replicas:
    """Asks for them again and again, in a thread of its own."""

    def __init__(self, find: FindReplicas, chunk_seconds: float) -> None:
        """`find` raises nothing. A replica that makes no audio for `chunk_seconds` counts as lost."""
        self._find = find
        self._chunk_seconds = chunk_seconds
        self._replicas: list[_Replica] = []
        self._found = threading.Condition()
        self._closed = False
        self._patient = True
        self._thread = threading.Thread(target=lambda: asyncio.run(self._follow()), name="replicas", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop_waiting(self) -> None:
        """`wait_for_first` ends."""
        with self._found:
            self._patient = False
            self._found.notify_all()

    def close(self) -> None:
        with self._found:
            self._closed, self._patient = True, False
            for replica in self._replicas:
                _close(replica)
            self._found.notify_all()

    def wait_for_first(self) -> EngineDescription | None:
        """One that is there, however long that takes; None if nobody is to wait any more."""
        with self._found:
            self._found.wait_for(lambda: self._choose() or not self._patient)
            chosen = self._choose()
        return chosen.description if chosen else None

    def wait(self, seconds: float) -> bool:
        """Whether there is one within so many seconds."""
        with self._found:
            self._found.wait_for(lambda: self._choose() or self._closed, seconds)
            return self._choose() is not None and not self._closed

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """To the replica with the least to do for this server. After an exception, the connection is closed."""
        with self._found:
            if (replica := self._choose()) is None:
                raise NoReplica
            replica.busy += 1
            connection = replica.idle.pop() if replica.idle else None
        try:
            connection = connection or Connection(replica.description, self._chunk_seconds)
            yield connection
        except BaseException as error:
            if connection:
                connection.close()
            with self._found:
                replica.busy -= 1
                if isinstance(error, LOST):
                    replica.lost = True  # until it is found again
                    _close(replica)
            raise
        with self._found:
            replica.busy -= 1
            replica.idle.append(connection)
            if self._closed or replica not in self._replicas:
                _close(replica)

    def _choose(self) -> _Replica | None:
        there = [replica for replica in self._replicas if not replica.lost]
        return min(there, key=lambda replica: (replica.busy, random.random()), default=None)

    async def _follow(self) -> None:
        while not self._closed:
            if found := await self._find():
                self._update(found)
            await asyncio.sleep(_FIND_SECONDS)

    def _update(self, found: Iterable[EngineDescription]) -> None:
        with self._found:
            known = {replica.description: replica for replica in self._replicas}
            self._replicas = [known.pop(each) if each in known else _Replica(each) for each in found]
            for replica in self._replicas:
                replica.lost = False
            for replica in known.values():
                _close(replica)
            self._found.notify_all()


def _close(replica: _Replica) -> None:
    """Closes its idle connections, under the lock."""
    while replica.idle:
        replica.idle.pop().close()


def share_workers(workers: int, servers: int) -> int:
    """How many of the engine's workers one of so many servers may use: at least one, as long as there is any, since
    the queue of the engine decides who waits."""
    return max(1, workers // max(servers, 1)) if workers else 0
