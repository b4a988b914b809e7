"""The leases of streams in Redis: for each key a sorted set, in which every lease has its expiry as its score."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and needed only with a Redis
    from redis.asyncio import Redis

# The time is that of Redis, so that the clocks of the servers do not matter.
# Arguments: the seconds that a lease lasts, the limit, the new lease, leases to remove first.
_ACQUIRE = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
for i = 4, #ARGV do redis.call('ZREM', KEYS[1], ARGV[i]) end
local granted = 0
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[3])
  redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[1]))
  granted = 1
end
return {granted, redis.call('ZCARD', KEYS[1])}
"""

# Leases of this server that it no longer knows are removed, unless they are so new that it may just not know them yet.
# Arguments: the seconds that a lease lasts, the server, the leases that it has.
_RENEW = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local server, fresh = ARGV[2], now + ARGV[1] * 0.9
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local held = {}
for i = 3, #ARGV do held[ARGV[i]] = true end
for _, lease in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', fresh)) do
  if string.sub(lease, 1, #server) == server and not held[lease] then redis.call('ZREM', KEYS[1], lease) end
end
for lease in pairs(held) do redis.call('ZADD', KEYS[1], now + ARGV[1], lease) end
redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[1]))
return redis.call('ZCARD', KEYS[1])
"""


class Leases:
    """The leases of one server, whose ids begin with its name."""

    def __init__(self, redis: "Redis", prefix: str, server: str, seconds: float) -> None:
        self._redis = redis
        self._prefix = prefix
        self._seconds = seconds
        self._server = server
        self._acquire = redis.register_script(_ACQUIRE)
        self._renew = redis.register_script(_RENEW)

    async def acquire(self, key_id: str, limit: int, lease: str, removed: Iterable[str]) -> tuple[bool, int]:
        """Whether the lease was added, and how many there are now, on all servers."""
        granted, count = await self._acquire(keys=[self._name(key_id)], args=[self._seconds, limit, lease, *removed])
        return bool(granted), int(count)

    async def remove(self, key_id: str, lease: str) -> bool:
        return bool(await self._redis.zrem(self._name(key_id), lease))

    async def renew(self, key_id: str, leases: Iterable[str]) -> int:
        """Prolongs the leases that this server has of a key, and returns how many there are on all servers."""
        return int(await self._renew(keys=[self._name(key_id)], args=[self._seconds, self._server, *leases]))

    def _name(self, key_id: str) -> str:
        return f"{self._prefix}:streams:{key_id}"
