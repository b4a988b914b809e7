"""A clock that tests set."""

from dataclasses import dataclass


@dataclass
class Clock:
    now: float = 1_800_000_000.25

    def __call__(self) -> float:
        return self.now
