"""Characters a minute: no more than so many in any sixty seconds, here and in Redis.

They are counted for each second of the clock, and a second counts until all of it is more than a minute ago.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and needed only with a Redis
    from redis.asyncio import Redis

_KEPT_SECONDS = 61  # a minute, and the second that is counted as a whole

# For each key a hash, which has the characters of each second. The time is that of Redis.
# Arguments: the seconds that are kept, the characters, and how many there may be before them.
_SPEND = """
local time = redis.call('TIME')
local now, total, kept = tonumber(time[1]), 0, {}
local counted = redis.call('HGETALL', KEYS[1])
for i = 1, #counted, 2 do
  if tonumber(counted[i]) + ARGV[1] <= now then
    redis.call('HDEL', KEYS[1], counted[i])
  else
    total = total + counted[i + 1]
    table.insert(kept, counted[i])
    table.insert(kept, counted[i + 1])
  end
end
local granted = 0
if ARGV[3] == 'inf' or total <= tonumber(ARGV[3]) then
  redis.call('HINCRBY', KEYS[1], now, ARGV[2])
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  granted = 1
end
return {granted, time[1], time[2], kept}
"""


class LocalRates:
    """The characters that this server has counted for each key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._keys: dict[str, dict[int, int]] = {}  # the one that was counted last is the last

    def __len__(self) -> int:
        return len(self._keys)

    def spend(self, key_id: str, characters: int, per_minute: float) -> float:
        """Counts characters and returns 0, or counts none and returns the seconds until there is room for them."""
        now = self._clock()
        self._forget(now)
        counted = self._keys.pop(key_id, {})
        wait = _find_wait(counted, now, per_minute - characters)
        if not wait:
            counted[int(now)] = counted.get(int(now), 0) + characters
        if counted:
            self._keys[key_id] = counted
        return wait

    def take_back(self, key_id: str, characters: int) -> None:
        """Uncounts what was counted last."""
        counted = self._keys.get(key_id, {})
        for second in sorted(counted, reverse=True):
            taken = min(characters, counted[second])
            counted[second] -= taken
            characters -= taken

    def take_all(self) -> dict[str, int]:
        """What is counted for each key now, and from now on is not."""
        self._forget(self._clock())
        keys, self._keys = self._keys, {}
        return {key_id: sum(counted.values()) for key_id, counted in keys.items()}

    def _forget(self, now: float) -> None:
        for key_id, counted in list(self._keys.items()):
            for second in [each for each in counted if each + _KEPT_SECONDS <= now]:
                del counted[second]
            if counted:
                return  # those behind it were counted later
            del self._keys[key_id]


class SharedRates:
    """The characters that all servers have counted for each key, in Redis."""

    def __init__(self, redis: "Redis", prefix: str) -> None:
        self._prefix = prefix
        self._spend = redis.register_script(_SPEND)

    async def spend(self, key_id: str, characters: int, per_minute: float) -> float:
        """As `LocalRates.spend`."""
        room = per_minute - characters
        granted, seconds, microseconds, kept = await self._spend(
            keys=[f"{self._prefix}:characters:{key_id}"], args=[_KEPT_SECONDS, characters, room]
        )
        if granted:
            return 0
        counted = dict(zip(map(int, kept[::2]), map(int, kept[1::2]), strict=True))
        return _find_wait(counted, int(seconds) + int(microseconds) / 1e6, room)


def _find_wait(counted: Mapping[int, int], now: float, room: float) -> float:
    """The seconds until no more than `room` is counted: 0 if it is so now, infinity if it will never be."""
    if room < 0:
        return math.inf
    total, wait = sum(counted.values()), 0.0
    for second in sorted(counted):
        if total <= room:
            break
        total -= counted[second]
        wait = second + _KEPT_SECONDS - now
    return max(wait, 0.0)
