"""The life of the service: it works, then it drains, then it is gone."""

from collections.abc import Callable

from svc.errors import ShuttingDown


class Lifecycle:
    """Whether the service still takes new work. A draining one finishes what it has and refuses the rest."""

    def __init__(self) -> None:
        self.draining = False
        self._on_drain: list[Callable[[], None]] = []

    def drain(self) -> None:
        if not self.draining:
            self.draining = True
            for act in self._on_drain:
                act()

    def on_drain(self, act: Callable[[], None]) -> None:
        self._on_drain.append(act)

    def require_running(self) -> None:
        if self.draining:
            raise ShuttingDown
