"""Limits that hold over all replicas, through Redis, and on each replica by itself while Redis is unavailable."""

import asyncio
import logging
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from svc.admission.leases import Leases
from svc.admission.rates import LocalRates, SharedRates
from svc.process.tasks import Supervisor

log = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_SECONDS = 2.0
_MAX_CONNECTIONS = 8
_PREFIX = "svc"


@dataclass(frozen=True, slots=True)
class Lease:
    """A place among the streams of a key; it lasts until it is released, or its server dies."""

    key_id: str
    id: str


@dataclass(slots=True)
class _Streams:
    """The streams of one key."""

    leases: set[Lease] = field(default_factory=set)
    """Those of this server."""
    wanted: int = 0
    """Places that this server is asking Redis for."""
    released: set[str] = field(default_factory=set)
    """Leases that are being removed from Redis; a request that comes sooner removes them itself."""
    elsewhere: int = 0
    """How many streams other servers had when Redis was asked last."""


class SharedLimits:
    """Counts streams and characters of each key. The name of a key may also be one for all keys together."""

    def __init__(self, url: str | None, *, lease_seconds: float = 15, timeout: float = 0.25) -> None:
        """`timeout` is how long a request waits for Redis, in seconds."""
        self.available: bool | None = None if url is None else False
        """Whether Redis answers; None if there is none."""
        self._lease_seconds = lease_seconds
        self._timeout = timeout
        self._server = secrets.token_hex(8)
        self._streams: dict[str, _Streams] = {}
        self._local_rates = LocalRates()
        self._untold_rates = LocalRates()  # what Redis was not told, because it was unavailable
        self._tasks: set[asyncio.Task[None]] = set()
        if url is not None:
            self._redis = Redis.from_pool(_create_pool(url, timeout))
            self._leases = Leases(self._redis, _PREFIX, self._server, lease_seconds)
            self._shared_rates = SharedRates(self._redis, _PREFIX)

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Renews the leases while the block lasts, and removes them at its end. Redis is not used outside it."""
        if self.available is None:
            yield
            return
        await self._renew()
        try:
            async with supervisor.running("shared_limits", self._keep_renewing):
                yield
        finally:
            for lease in [lease for streams in self._streams.values() for lease in streams.leases]:
                self.release(lease)
            await asyncio.gather(*self._tasks)
            self.available = False
            await self._redis.aclose()

    async def acquire(self, key_id: str, max_streams: int) -> Lease | None:
        """A place among the streams of a key; None if all are taken."""
        streams = self._streams.setdefault(key_id, _Streams())
        if len(streams.leases) + streams.wanted >= max_streams:
            return None
        lease = Lease(key_id, f"{self._server}:{secrets.token_hex(8)}")
        if not self.available:
            return self._add(streams, lease)
        told = list(streams.released)
        streams.wanted += 1
        try:
            answer = await self._ask(lambda: self._leases.acquire(key_id, max_streams, lease.id, told))
        except BaseException:  # cancelled: Redis may have granted it already
            self._remove_soon(streams, lease)
            raise
        finally:
            streams.wanted -= 1
        if answer is None:  # the count of this server decides
            return self._add(streams, lease)
        granted, total = answer
        streams.released.difference_update(told)
        streams.elsewhere = max(0, total - len(streams.leases) - granted)
        return self._add(streams, lease) if granted else None

    def release(self, lease: Lease) -> None:
        """Gives a place back; Redis is told in the background."""
        streams = self._streams.get(lease.key_id)
        if streams is None or lease not in streams.leases:
            return
        streams.leases.remove(lease)
        if self.available:
            self._remove_soon(streams, lease)
        elif self.available is None:
            self._forget_if_idle(lease.key_id)

    async def spend(self, key_id: str, characters: int, per_minute: int) -> float | None:
        """Counts characters of a key; if they are too many, counts none and returns how many seconds to wait.

        A text longer than a whole minute's allowance is never allowed: infinity.
        """
        # What this server has allowed in the last minute is never more than all servers have. It is counted here too,
        # so that the limit holds while Redis is unavailable, and when it comes back knowing less.
        if wait := self._local_rates.spend(key_id, characters, per_minute):
            return wait
        answer = None
        if self.available:
            answer = await self._ask(lambda: self._shared_rates.spend(key_id, characters, per_minute))
        if answer is None and self.available is not None:
            self._untold_rates.spend(key_id, characters, math.inf)
        if answer:
            self._local_rates.take_back(key_id, characters)
        return answer or None

    def count(self, key_id: str) -> int:
        """The streams of a key, on all replicas as far as is known."""
        streams = self._streams.get(key_id, _Streams())
        return len(streams.leases) + streams.elsewhere

    def _add(self, streams: _Streams, lease: Lease) -> Lease:
        streams.leases.add(lease)
        return lease

    def _remove_soon(self, streams: _Streams, lease: Lease) -> None:
        async def remove() -> None:
            # If this fails, the renewal removes it when Redis is back.
            await self._ask(lambda: self._leases.remove(lease.key_id, lease.id))
            streams.released.discard(lease.id)

        streams.released.add(lease.id)
        task = asyncio.create_task(remove())
        self._tasks.add(task)  # the event loop alone would not keep it
        task.add_done_callback(self._tasks.discard)

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(min(self._lease_seconds / 3, math.inf if self.available else _RETRY_SECONDS))
            await self._renew()

    async def _renew(self) -> None:
        """Renews all leases, also those that were given while Redis was unavailable, if it is back."""
        if await self._ask(self._redis.ping) is None:
            return
        await self._tell_rates()
        for key_id, streams in list(self._streams.items()):
            held = list(streams.leases)
            total = await self._ask(lambda: self._leases.renew(key_id, [lease.id for lease in held]))  # noqa: B023
            if total is None:
                return
            streams.elsewhere = max(0, total - len(held))
            for lease in held:
                if lease not in streams.leases:  # released meanwhile, perhaps before it was renewed
                    self._remove_soon(streams, lease)
            self._forget_if_idle(key_id)

    async def _tell_rates(self) -> None:
        """Counts in Redis what was allowed without it."""
        for key_id, characters in self._untold_rates.take_all().items():
            told = None
            if self.available:
                told = await self._ask(lambda: self._shared_rates.spend(key_id, characters, math.inf))  # noqa: B023
            if told is None:
                self._untold_rates.spend(key_id, characters, math.inf)

    def _forget_if_idle(self, key_id: str) -> None:
        streams = self._streams[key_id]
        if not streams.leases and not streams.wanted and not streams.released:
            del self._streams[key_id]

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """What Redis answers; None if it fails, and then it is left alone until a renewal finds it again."""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await call()
        except (RedisError, OSError) as error:  # a timeout is an OSError
            if self.available:
                reason = str(error) or f"no answer within {self._timeout:g} s"
                log.error("Redis is unavailable: %s. Until it is back, every server applies the limits itself.", reason)
            self.available = False
            return None
        if not self.available:
            log.info("Redis is available: the limits hold for all servers together")
        self.available = True
        return answer


def _create_pool(url: str, timeout: float) -> BlockingConnectionPool:
    try:
        return BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=None,  # `_ask` has one for the whole call
            socket_connect_timeout=timeout,
            socket_timeout=timeout,
            retry=Retry(NoBackoff(), 1),  # Redis closes connections that were idle for long
        )
    except ValueError:  # its message quotes parts of the URL, which may contain a password
        raise ValueError("SVC_REDIS_URL cannot be parsed: use redis://:password@host:6379/0") from None
