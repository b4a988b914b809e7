"""Characters a minute, counted in a sliding window."""

import math
from typing import Protocol

from limits import RateLimitItemPerMinute


class WindowStorage(Protocol):
    """What is used of the storages of the package `limits`."""

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool: ...

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]: ...


async def spend(storage: WindowStorage, key_id: str, characters: int, per_minute: int) -> float:
    """Counts characters and returns 0, or counts none and returns the seconds until there is room for them.

    More than a minute's allowance never finds room: infinity.
    """
    if characters > per_minute:
        return math.inf
    item = RateLimitItemPerMinute(per_minute, namespace="characters")
    key, minute = item.key_for(key_id), item.get_expiry()
    if await storage.acquire_sliding_window_entry(key, per_minute, minute, characters):
        return 0
    previous, _, current, expires_in = await storage.get_sliding_window(key, minute)
    rest = max(0.0, expires_in - minute)  # of the current minute
    room = per_minute - characters  # for what was counted before
    # The minute before counts by its share of the last sixty seconds, which shrinks.
    if current <= room:
        wait = rest - minute * (room - current) / max(previous, 1)
    else:
        wait = rest + minute * (1 - room / current)
    return max(wait, 0.1)
