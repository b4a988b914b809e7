"""Admission: a text is synthesized once its key and the engine have room for it.

A stream beyond the limits waits for a short time and is then refused, instead of making all others late. Nobody listens
to a whole clip while it is made: it waits for minutes, and takes what time the streams leave. Those who wait are let in
by turns: streams before clips, and first the key that has the fewest texts in work.
"""

import asyncio
import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, Self

from svc.admission import capacity
from svc.admission.capacity import Demand
from svc.admission.shared import Lease, SharedLimits
from svc.auth.keys import KeyLimits, Principal
from svc.errors import Busy, RateLimitExceeded, SvcError, TooManyConcurrentRequests
from svc.observability.metrics import Metrics
from svc.observability.tracing import span
from svc.synthesis.playback import Playback
from svc.synthesis.scheduler import EngineSpeed

# Of the engine's time and of all streams, that one key may take where there are several: the rest is for the others.
_KEY_SHARE = 0.75

# Of the places, that clips may take: streams find the others.
_CLIP_SHARE = 0.5

# How often those who wait look again: room also comes with time, not only when somebody leaves.
_POLL_SECONDS = 0.05
_MAX_PAUSE_SECONDS = 1.0  # before Redis is asked again for a key that has no place
_MAX_RETRY_SECONDS = 30

_ALL_KEYS = "all keys"


@dataclass(frozen=True, slots=True)
class Limits:
    max_streams: int
    max_waiting: int
    max_characters_per_minute: int | None = None

    def of_key(self, own: KeyLimits) -> "Limits":
        """These limits, where the key has none of its own."""
        return Limits(
            self.max_streams if own.max_streams is None else own.max_streams,
            self.max_waiting if own.max_waiting is None else own.max_waiting,
            self.max_characters_per_minute if own.max_characters_per_minute is None else own.max_characters_per_minute,
        )

    def share(self, share: float) -> "Limits":
        """The part of the places that one key may take."""
        return Limits(math.ceil(share * self.max_streams), math.ceil(share * self.max_waiting))


class Place:
    """Permission to synthesize one text, until it is released."""

    def __init__(self, admission: "Admission", playback: Playback) -> None:
        self._admission = admission
        self.playback = playback
        self.lease: Lease | None = None

    @property
    def key_id(self) -> str:
        return self.playback.key_id

    def release(self) -> None:
        """May be called several times."""
        self._admission.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@dataclass(slots=True, eq=False)
class _Waiter:
    place: Place
    limits: Limits
    admitted: asyncio.Future[None]
    until: float
    own_until: float
    """How long it waits while nothing but a limit that was set for its key keeps it."""
    not_before: float = 0.0
    """The key had no place on any server, and Redis is asked again then."""
    pause: float = _POLL_SECONDS

    @property
    def live(self) -> bool:
        return self.place.playback.live

    def postpone(self) -> None:
        self.not_before = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, _MAX_PAUSE_SECONDS)


class _Places:
    """The texts in work, each key's in the order in which they were admitted."""

    def __init__(self) -> None:
        self._of_keys: dict[str, dict[Place, None]] = {}

    def add(self, place: Place) -> None:
        self._of_keys.setdefault(place.key_id, {})[place] = None

    def remove(self, place: Place) -> bool:
        """Whether it was there."""
        own = self._of_keys.get(place.key_id, {})
        if place not in own:
            return False
        del own[place]
        if not own:
            del self._of_keys[place.key_id]
        return True

    def of_key(self, key_id: str) -> Collection[Place]:
        return self._of_keys.get(key_id, {})

    def find(self, *, live: bool) -> list[Place]:
        return [place for place in self if place.playback.live == live]

    def __iter__(self) -> Iterator[Place]:
        return chain.from_iterable(self._of_keys.values())

    def __len__(self) -> int:
        return sum(map(len, self._of_keys.values()))


class Admission:
    def __init__(
        self,
        all_keys: Limits,
        each_key: KeyLimits,
        shared: SharedLimits,
        speed: EngineSpeed,
        metrics: Metrics,
        *,
        several_keys: bool,
        max_load: float,
        queue_seconds: float,
        clip_queue_seconds: float,
        token_rate: int | None = None,
    ) -> None:
        """`all_keys` limits all keys together; `each_key` limits a key that has no limits of its own; `token_rate` are
        the characters a minute of a token."""
        self._all_keys = all_keys
        self._key_share = _KEY_SHARE if several_keys else 1.0
        self._each_key = all_keys.share(self._key_share).of_key(each_key)
        self._has_key_limit = each_key.max_streams is not None
        self._max_clips = math.ceil(_CLIP_SHARE * all_keys.max_streams)
        self._shared = shared
        self._speed = speed
        self._metrics = metrics
        self._max_load = max_load
        self._queue_seconds = queue_seconds
        self._clip_queue_seconds = clip_queue_seconds
        self._token_rate = token_rate
        self._places = _Places()
        self._waiting: list[_Waiter] = []
        self._polling: asyncio.TimerHandle | None = None
        metrics.streams.set_function(lambda: len(self._places))
        metrics.waiting.set_function(lambda: len(self._waiting))
        metrics.load.set_function(lambda: self._load_of(*self._places.find(live=True)))

    def limits_of(self, principal: Principal) -> Limits:
        """The limits of the key itself, or the default."""
        return self._each_key.of_key(principal.limits)

    def count(self, principal: Principal) -> int:
        """How many texts of the key are being synthesized."""
        return self._shared.count(principal.key_id)

    async def admit(self, principal: Principal, characters: int, seconds: float, *, live: bool = True) -> Place:
        """Waits for a place for a text of so many characters, which will be about so many seconds of audio.

        `live` if somebody listens while it is synthesized. Raises `TooManyConcurrentRequests`, `RateLimitExceeded` or
        `Busy`.
        """
        limits = self.limits_of(principal)
        place = Place(self, Playback(principal.key_id, seconds, live=live))
        started = time.monotonic()
        try:
            with span("admission"):
                await self._take_place(self._create_waiter(place, limits, principal))
                await self.spend(principal, characters)
        except BaseException:
            place.release()
            raise
        self._metrics.queue_seconds.observe(time.monotonic() - started)
        return place

    async def spend(self, principal: Principal, characters: int) -> None:
        """Counts characters; raises `RateLimitExceeded` if they are too many for this minute."""
        rates: list[tuple[str, int | None, Literal["key", "token", "all keys"]]] = [
            (principal.key_id, self.limits_of(principal).max_characters_per_minute, "key"),
            (_ALL_KEYS, self._all_keys.max_characters_per_minute, "all keys"),
        ]
        if principal.token_id:  # first: what a token is refused does not count for its key
            rates.insert(0, (principal.token_id, self._token_rate, "token"))
        for name, limit, whose in rates:
            if limit is not None and (wait_seconds := await self._shared.spend(name, characters, limit)) is not None:
                raise RateLimitExceeded(limit, wait_seconds, whose)
        self._metrics.characters.inc(characters)

    def release(self, place: Place) -> None:
        if self._places.remove(place):
            self._admit_waiting()
        if place.lease:
            lease, place.lease = place.lease, None
            self._shared.release(lease)

    def _create_waiter(self, place: Place, limits: Limits, principal: Principal) -> _Waiter:
        now = time.monotonic()
        until = now + (self._queue_seconds if place.playback.live else self._clip_queue_seconds)
        is_limited = self._has_key_limit or principal.limits.max_streams is not None
        own_until = min(now + self._queue_seconds, until) if is_limited else until
        return _Waiter(place, limits, asyncio.get_running_loop().create_future(), until, own_until)

    async def _take_place(self, waiter: _Waiter) -> None:
        """Waits for room here, and for a place among the streams of the key over all replicas."""
        place = waiter.place
        while True:
            await self._wait_for_room(waiter)
            place.lease = await self._shared.acquire(place.key_id, waiter.limits.max_streams)
            if place.lease:
                return
            waiter.postpone()
            waiter.admitted = asyncio.get_running_loop().create_future()
            place.release()

    async def _wait_for_room(self, waiter: _Waiter) -> None:
        self._waiting.append(waiter)
        self._admit_waiting()
        try:
            if not waiter.admitted.done():
                self._require_room_to_wait(waiter)
                await waiter.admitted
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _require_room_to_wait(self, waiter: _Waiter) -> None:
        """Streams and clips have a queue each: clips, which wait for long, keep no stream from waiting."""
        alike = [each for each in self._waiting if each.live == waiter.live]
        of_key = sum(each.place.key_id == waiter.place.key_id for each in alike)
        if of_key > waiter.limits.max_waiting or len(alike) > self._all_keys.max_waiting:
            raise self._find_obstacle(waiter) or self._busy()
        self._poll()

    def _poll(self) -> None:
        if self._polling is None and self._waiting:
            self._polling = asyncio.get_running_loop().call_later(_POLL_SECONDS, self._admit_later)

    def _admit_later(self) -> None:
        self._polling = None
        self._admit_waiting()
        self._refuse_late()
        self._poll()

    def _refuse_late(self) -> None:
        """Refuses those who have waited for too long."""
        now = time.monotonic()
        for waiter in [each for each in self._waiting if not each.admitted.done()]:
            if now >= waiter.until:
                waiter.admitted.set_exception(self._find_obstacle(waiter) or self._busy())
            elif now >= waiter.own_until and (error := self._find_own_limit(waiter)):
                waiter.admitted.set_exception(error)

    def _admit_waiting(self) -> None:
        """Lets in all for whom there is room."""
        while waiter := next((each for each in self._in_turn() if self._find_obstacle(each) is None), None):
            self._waiting.remove(waiter)
            self._places.add(waiter.place)
            waiter.admitted.set_result(None)

    def _in_turn(self) -> Iterator[_Waiter]:
        """The first stream and clip of each key; streams first, and the key that has the fewest texts in work."""
        firsts: dict[tuple[str, bool], _Waiter] = {}
        for waiter in self._waiting:
            if not waiter.admitted.done():  # cancelled or refused at this moment
                firsts.setdefault((waiter.place.key_id, waiter.live), waiter)
        yield from sorted(
            firsts.values(), key=lambda each: (not each.live, len(self._places.of_key(each.place.key_id)))
        )

    def _find_obstacle(self, waiter: _Waiter) -> SvcError | None:
        """Why there is no room for it now."""
        if error := self._find_own_limit(waiter):
            return error
        if len(self._places) >= self._all_keys.max_streams:
            return self._busy(self._all_keys.max_streams)
        places = self._places.find(live=waiter.live)
        own = [each for each in places if each.key_id == waiter.place.key_id]
        if not waiter.live:  # the engine makes clips in the time that is left
            is_full = len(own) >= math.ceil(self._max_clips * self._key_share) or len(places) >= self._max_clips
            return self._busy(len(places)) if is_full else None
        # The first is always let in: an engine that is slower than real time serves one text after the other.
        if own and self._is_too_much([*own, waiter.place], self._max_load * self._key_share):
            return self._busy()
        # Where no other key has a text, its own are all.
        if len(own) < len(places) and self._is_too_much([*places, waiter.place], self._max_load):
            return self._busy()
        return None

    def _find_own_limit(self, waiter: _Waiter) -> SvcError | None:
        """The limit of its key, if that is reached."""
        own = self._places.of_key(waiter.place.key_id)
        if len(own) >= waiter.limits.max_streams or time.monotonic() < waiter.not_before:
            return TooManyConcurrentRequests(waiter.limits.max_streams)
        return None

    def _busy(self, limit: int | None = None) -> Busy:
        seconds = sum(place.playback.remaining_seconds for place in self._places)
        work_seconds = seconds * self._speed.real_time_factor / self._speed.workers
        return Busy(limit, min(work_seconds, _MAX_RETRY_SECONDS))

    def _is_too_much(self, places: Sequence[Place], max_load: float) -> bool:
        """Whether the engine could not make the audio of all of them in time."""
        playbacks = [place.playback for place in places]
        starts = (playback.buffered_seconds for playback in playbacks if not playback.started)
        speed = self._speed
        # Mostly there is room, and this tells so many times as fast as the load: with hundreds of texts in work, that
        # would take a third of the server's time.
        bound = capacity.bound_load(len(playbacks), starts, speed.start_seconds, speed.real_time_factor, speed.workers)
        return bound > max_load and self._load_of(*places) > max_load

    def _load_of(self, *places: Place) -> float:
        demands = [_demand_of(place.playback, self._speed) for place in places]
        return capacity.load(demands, self._speed.real_time_factor, self._speed.workers)


def _demand_of(playback: Playback, speed: EngineSpeed) -> Demand:
    start_seconds = 0.0 if playback.started else speed.start_seconds
    return Demand(playback.buffered_seconds, playback.remaining_seconds, start_seconds)
