"""How far a training has come: by its steps or, where the time on a GPU is limited, by the clock."""

import time
from pathlib import Path


class Progress:
    def __init__(self, steps: int, until: Path | None = None) -> None:
        """`until`: a file with the Unix time at which to end, which can be changed while the training runs."""
        self.steps, self.until, self.began = steps, until, time.time()

    def measure(self, done: int) -> float:
        """From 0 to 1 after so many steps."""
        if self.until is None:
            return done / self.steps
        now, end = time.time(), float(self.until.read_text())
        return 1.0 if now >= end else (now - self.began) / (end - self.began)
