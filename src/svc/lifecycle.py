"""The life of the service: it works, then it drains, then it is gone."""

from svc.errors import ShuttingDown


class Lifecycle:
    """Whether the service still takes new work. A draining one finishes what it has and refuses the rest."""

    def __init__(self) -> None:
        self.draining = False

    def drain(self) -> None:
        self.draining = True

    def require_running(self) -> None:
        if self.draining:
            raise ShuttingDown
