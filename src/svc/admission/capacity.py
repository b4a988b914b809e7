"""Whether the engine can make all audio in time."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """A listener who has `buffered` seconds of audio, and after them wants `remaining` seconds more, in real time."""

    buffered: float
    remaining: float

    def until(self, seconds: float) -> float:
        """How much audio has to be made within so many seconds."""
        return min(max(seconds - self.buffered, 0.0), self.remaining)


def load(demands: Sequence[Demand], real_time_factor: float) -> float:
    """The share of its time that the engine needs to serve all of them without a gap; above 1 it cannot.

    This is the processor demand criterion of real-time scheduling: an engine that always makes what is due first meets
    all deadlines if, up to every moment, what is due by then takes no longer than the time until then. The demand
    grows steadily while listeners want audio, so the moments at which one of them is done are the worst.
    """
    ends = (demand.buffered + demand.remaining for demand in demands)
    return max((sum(each.until(end) for each in demands) * real_time_factor / end for end in ends if end), default=0.0)
