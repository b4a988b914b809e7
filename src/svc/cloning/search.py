"""The search for a better likeness: where it stands, what it tries next, and what it makes of how like that was.

A few directions at a time: a step each way along every one of them shows where on it the likeness is best, and that is
where the search goes. It needs no gradients, so whatever speaks and whatever listens will do, and it strays in no
direction that does not help. Nothing is left to chance: a search that was stored and read back goes on as if nothing
had happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from svc.cloning.directions import COUNT, Offset

GENERATIONS = 13
"""Every direction comes about three times."""
TRIALS = 9
"""In a generation: where the search stands, and a step each way along some directions."""

_AT_A_TIME = (TRIALS - 1) // 2
_FIRST_STEP, _SHORTER = 0.8, 0.94
_SHARE = 0.7  # of the way to the best on each direction: they are not quite independent of each other
_RESTRAINT = 0.02  # likeness given up for each unit, squared: far out, voices sound less natural
_FARTHEST = 20.0  # no search gets there; what is beyond was damaged


@dataclass(frozen=True, eq=False, slots=True)
class Search:
    generation: int
    centre: Offset
    """Of the trials: what is found so far."""

    @classmethod
    def start(cls) -> Self:
        return cls(0, np.zeros(COUNT, dtype=np.float32))

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return round(min(1.0, self.generation / GENERATIONS), 3)

    @property
    def done(self) -> bool:
        return self.generation >= GENERATIONS

    def trials(self) -> list[Offset]:
        """What to try in this generation."""
        steps = self._step * np.eye(COUNT, dtype=np.float32)[self._axes]
        return [self.centre, *(self.centre + steps), *(self.centre - steps)]

    def after(self, likeness: Sequence[float]) -> "Search":
        """The next generation, given how like the person each of the trials was."""
        scores = np.array(likeness) - _RESTRAINT * np.square(self.trials()).sum(axis=1)
        here, (ahead, behind) = scores[0], scores[1:].reshape(2, _AT_A_TIME)
        slope, bend = (ahead - behind) / 2, (ahead + behind) / 2 - here
        # Where the parabola through the three has its top or, if it opens upwards, the better of the two ends.
        top = np.where(bend < 0, slope / np.maximum(-2 * bend, 1e-9), np.sign(slope))
        centre = self.centre.copy()
        centre[self._axes] += (_SHARE * self._step * np.clip(top, -1, 1)).astype(np.float32)
        return Search(self.generation + 1, centre)

    @property
    def _axes(self) -> list[int]:
        """The directions of this generation."""
        return [(self.generation * _AT_A_TIME + each) % COUNT for each in range(_AT_A_TIME)]

    @property
    def _step(self) -> float:
        return float(_FIRST_STEP * _SHORTER**self.generation)

    def to_json(self) -> dict[str, Any]:
        return {"generation": self.generation, "centre": self.centre.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Raises `ValueError` on anything but what `to_json` wrote."""
        try:
            search = cls(int(stored["generation"]), np.array(stored["centre"], dtype=np.float32))
        except (KeyError, TypeError) as problem:
            raise ValueError(f"the search is incomplete: {problem}") from problem
        if search.generation < 0 or search.centre.shape != (COUNT,) or not np.all(np.abs(search.centre) <= _FARTHEST):
            raise ValueError("the search is damaged")
        return search
