"""What was lately read from the keys table, so that not every request asks the database."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from svc.auth.stored_key import StoredKey
from svc.errors import KeysUnavailable

_KNOWN = 10_000
_UNKNOWN = 1_000
_UNKNOWN_SECONDS = 1.0


@dataclass(slots=True)
class _Answer:
    key: StoredKey | None
    read_at: float
    """When the database said so."""
    since: float
    until: float
    """Between these times it counts without asking again. A clock that was set back must not make it last longer."""


class CachedKeys:
    """Rows by the hash of their credential, at most `seconds` old.

    While the database does not answer, a row that was read within `grace_seconds` still counts.
    """

    def __init__(
        self,
        find: Callable[[str], Awaitable[StoredKey | None]],
        clock: Callable[[], float],
        seconds: float,
        grace_seconds: float,
    ) -> None:
        self._find = find
        self._clock = clock
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        # Apart, so that a flood of invented keys cannot push out the real ones.
        self._known = OrderedDict[str, _Answer]()
        self._unknown = OrderedDict[str, _Answer]()

    async def find(self, digest: str) -> StoredKey | None:
        now = self._clock()
        answer = self._known.get(digest) or self._unknown.get(digest)
        if answer is not None and answer.since <= now < answer.until:
            return answer.key
        try:
            key = await self._find(digest)
        except KeysUnavailable:
            if answer is None or answer.key is None or now >= answer.read_at + self._grace_seconds:
                raise
            answer.since, answer.until = now, min(now + self._seconds, answer.read_at + self._grace_seconds)
            return answer.key
        seconds = self._seconds if key else min(self._seconds, _UNKNOWN_SECONDS)
        self._keep(digest, _Answer(key, now, now, now + seconds))
        return key

    def _keep(self, digest: str, answer: _Answer) -> None:
        self._known.pop(digest, None)
        self._unknown.pop(digest, None)
        kept, size = (self._known, _KNOWN) if answer.key else (self._unknown, _UNKNOWN)
        kept[digest] = answer
        while len(kept) > size:
            kept.popitem(last=False)
