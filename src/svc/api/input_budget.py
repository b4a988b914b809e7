"""How much of unfinished bodies and messages the server holds for all clients together."""

from typing import Self

from svc.errors import InputBusy

_FREE = 16 * 1024
"""Of each; so requests of the usual size are served while large ones use up the budget."""


class InputBudget:
    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held = 0

    def open(self) -> "Reservation":
        return Reservation(self)


class Reservation:
    """What is held of one body or message, until it is released or the block is left."""

    def __init__(self, budget: InputBudget) -> None:
        self._budget = budget
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def resize(self, size: int) -> None:
        """Raises if there is no room for so many bytes."""
        held = max(0, size - _FREE)
        if held > self._held and self._budget.held + held - self._held > self._budget.max_bytes:
            raise InputBusy(self._budget.max_bytes)
        self._budget.held += held - self._held
        self._held = held

    def release(self) -> None:
        self.resize(0)
