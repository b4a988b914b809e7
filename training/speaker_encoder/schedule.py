"""The learning rate schedule, metrics and log lines that both trainings share."""

import math
import time

from torch import Tensor


def cosine_rate(step: int, steps: int, start: float = 0.0) -> float:
    """Factor of the peak learning rate: a cosine from `start` (0 to 1 of its length) that ends at 2 %."""
    along = start + (1 - start) * step / steps
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * along))


class Metrics:
    """Means since they were last read. They stay on the GPU until then."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, **values: Tensor) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value.detach()
            self._counts[name] = self._counts.get(name, 0) + 1

    def read(self) -> str:
        text = "  ".join(f"{name} {float(total) / self._counts[name]:.3f}" for name, total in self._sums.items())
        self._sums, self._counts = {}, {}
        return text


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)
