"""Training by the clock: when it ends, how far the learning rate has fallen, what is due, and what to say."""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

from torch import Tensor


def parts_of_time(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=1000, help="of training, the making of data not counted")
    parser.add_argument("--until", type=Path, help="a file with the end (seconds since 1970), which may be changed")
    parser.add_argument("--spare", type=float, default=0.0, help="seconds to end before `--until`")
    parser.add_argument("--start", type=float, default=0.0, help="where on the learning rate's cosine to begin")


class Clock:
    def __init__(self, args: argparse.Namespace) -> None:
        self._began = time.time()
        self._args = args

    @property
    def _end(self) -> float:
        until = self._args.until
        return float(until.read_text()) - self._args.spare if until else self._began + self._args.seconds

    @property
    def running(self) -> bool:
        return time.time() < self._end

    @property
    def along(self) -> float:
        """0 at the beginning, 1 at the end."""
        return (time.time() - self._began) / max(1.0, self._end - self._began)

    @property
    def rate(self) -> float:
        """Of the peak learning rate: a cosine that ends at 2 %."""
        start = self._args.start
        along = min(1.0, start + (1 - start) * self.along)
        return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * along))

    @staticmethod
    def every(seconds: float) -> Callable[[], bool]:
        """Says when it is time again."""
        last = time.monotonic()

        def due() -> bool:
            nonlocal last
            now = time.monotonic()
            if now - last < seconds:
                return False
            last = now
            return True

        return due


class Notes:
    """Means of what was measured since they were last read. They stay on the card until then."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, **values: Tensor) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value.detach()
            self._counts[name] = self._counts.get(name, 0) + 1

    def __str__(self) -> str:
        text = "  ".join(f"{name} {float(total) / self._counts[name]:.3f}" for name, total in self._sums.items())
        self._sums, self._counts = {}, {}
        return text


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)
