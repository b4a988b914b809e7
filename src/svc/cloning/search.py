"""The search for a better likeness: where it stands, what it tries next, and what it makes of how that was liked.

An evolution strategy with mirrored samples: of a generation of trials the best decide where the next ones are made. It
needs no gradients, so whatever speaks and whatever listens will do. Chance is drawn from the number of the generation:
a search that was stored and read back goes on as if nothing had happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from svc.cloning.directions import COUNT, Offset

GENERATIONS = 25
TRIALS = 8
"""In a generation: half of them, and their mirror images."""

_FIRST_REACH, _COOLING = 0.35, 0.965
_BEST = np.array([0.5, 0.3, 0.2])  # what the best trials weigh in the next centre
_RESTRAINT = 0.004  # likeness given up for every unit that all directions stray: far out, voices sound less natural
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
        return self.generation / GENERATIONS

    @property
    def done(self) -> bool:
        return self.generation >= GENERATIONS

    def trials(self) -> list[Offset]:
        """What to try in this generation."""
        chance = np.random.default_rng(self.generation)
        reach = _FIRST_REACH * _COOLING**self.generation
        half = reach * chance.standard_normal((TRIALS // 2, COUNT))
        return list(self.centre + np.concatenate([half, -half]).astype(np.float32))

    def after(self, likeness: Sequence[float]) -> "Search":
        """The next generation, given how like the person each of the trials was."""
        trials = np.stack(self.trials())
        scores = np.array(likeness) - _RESTRAINT * np.square(trials).mean(axis=1)
        best = np.argsort(scores)[::-1][: len(_BEST)]
        return Search(self.generation + 1, (_BEST @ trials[best]).astype(np.float32))

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
