"""Whether the engine can make all audio in time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_SHORTEST_SECONDS = 0.1  # what is due now cannot be made in no time


@dataclass(frozen=True, slots=True)
class Demand:
    """A listener who has `buffered` seconds of audio, and after them wants `remaining` seconds more, in real time."""

    buffered: float
    remaining: float
    start_seconds: float = 0.0
    """What the engine takes for the first audio, if there is none yet."""


def load(demands: Sequence[Demand], real_time_factor: float, workers: int = 1) -> float:
    """The share of their time that the workers need to serve all of them without a gap; above 1 they cannot.

    This is the processor demand criterion of real-time scheduling: an engine that always makes what is due first meets
    all deadlines if, up to every moment, what is due by then takes no longer than the time until then. The demand
    grows steadily while listeners want audio, so the worst moments are those at which the first audio is due, or the
    last.
    """
    if not demands:
        return 0.0
    buffered, remaining, start_seconds = np.array(
        [(each.buffered, each.remaining, each.start_seconds) for each in demands]
    ).T
    ends = buffered + remaining
    moments = np.concatenate([ends, buffered[start_seconds > 0]])
    # The work up to a moment is a line that bends where a listener begins to want audio, and where one has all. These
    # are sorted: a table of all listeners and moments takes milliseconds for hundreds of them.
    times = np.concatenate([buffered, ends])
    slopes = np.repeat([real_time_factor, -real_time_factor], len(demands))
    heights = np.concatenate([start_seconds, np.zeros(len(demands))]) - slopes * times
    order = times.argsort()
    slope, height = np.cumsum([slopes[order], heights[order]], axis=1)
    last = times[order].searchsorted(moments, side="right") - 1
    work = height[last] + slope[last] * moments
    shares = work / workers / np.maximum(moments, _SHORTEST_SECONDS)
    return float(shares.max())


def bound_load(
    listeners: int, starts: Iterable[float], start_seconds: float, real_time_factor: float, workers: int = 1
) -> float:
    """No less than the load of so many listeners, without a look at what each of them has and wants.

    `starts` are the seconds in which the first audio is due of those who have none yet. Nobody wants more than a second
    of audio in a second, and a beginning weighs most at the moment at which it is due.
    """
    beginnings = sum(1 / max(due, _SHORTEST_SECONDS) for due in starts)
    return (listeners * real_time_factor + beginnings * start_seconds) / workers
