"""Whether the engine can make all audio in time."""

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST_SECONDS = 0.1  # what is due now cannot be made in no time


@dataclass(frozen=True, slots=True)
class Demand:
    """A listener who has `buffered` seconds of audio, and after them wants `remaining` seconds more, in real time."""

    buffered: float
    remaining: float
    start_seconds: float = 0.0
    """What the engine takes for the first audio, if there is none yet."""

    def work_until(self, seconds: float, real_time_factor: float) -> float:
        """How long the engine works for what has to be made within so many seconds."""
        if seconds < self.buffered:
            return 0.0
        return self.start_seconds + min(seconds - self.buffered, self.remaining) * real_time_factor


def load(demands: Sequence[Demand], real_time_factor: float) -> float:
    """The share of its time that the engine needs to serve all of them without a gap; above 1 it cannot.

    This is the processor demand criterion of real-time scheduling: an engine that always makes what is due first meets
    all deadlines if, up to every moment, what is due by then takes no longer than the time until then. The demand
    grows steadily while listeners want audio, so the worst moments are those at which the first audio is due, or the
    last.
    """
    moments = {demand.buffered + demand.remaining for demand in demands}
    moments |= {demand.buffered for demand in demands if demand.start_seconds}
    return max(
        (
            sum(each.work_until(moment, real_time_factor) for each in demands) / max(moment, _SHORTEST_SECONDS)
            for moment in moments
        ),
        default=0.0,
    )
