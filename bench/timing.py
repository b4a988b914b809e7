"""Times a synthesis: seconds until the first and the last audio, and CPU seconds."""

import time
from typing import Any


class Stopwatch:
    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()
        self._first = 0.0
        self._parts: list[float] = []

    def add(self, seconds: float) -> None:
        """Records that some seconds of speech are ready."""
        self._first = self._first or time.perf_counter() - self._began
        self._parts.append(seconds)

    def stop(self) -> dict[str, Any]:
        return {
            "first": self._first,
            "last": time.perf_counter() - self._began,
            "work": time.process_time() - self._worked,
            "parts": self._parts,
        }
