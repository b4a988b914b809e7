"""What clients were told is done, and what may or may not be: a request whose answer never came leaves both open."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


class Unanswered(Exception):
    """The request may or may not have been carried out."""


class Fact(Generic[T]):
    """The values that something may have: one after an acknowledgement, several after a request without an answer."""

    def __init__(self, value: T) -> None:
        self.possible = {value}

    @contextmanager
    def change(self, value: T) -> Iterator[None]:
        """Around the request that makes the change; it raises `Unanswered` if it was not acknowledged."""
        self.possible |= {value}
        try:
            yield
        except Unanswered:
            return
        self.possible = {value}

    def allows(self, value: T) -> bool:
        return value in self.possible


@dataclass
class VoiceRecord:
    voice_id: str
    name: Fact[str]
    exists: Fact[bool]
    stability: Fact[float]
    elsewhere: bool = False
    """Whether it was made on the other server, so that it arrives later and its settings never do."""


@dataclass
class Ledger:
    voices: dict[str, VoiceRecord] = field(default_factory=dict)
    keys: dict[str, Fact[bool]] = field(default_factory=dict)
    """Whether each key is valid."""
    tokens: dict[str, float] = field(default_factory=dict)
    """Until when each token is valid, in Unix time."""
    acknowledged: int = 0
    unanswered: int = 0
    faults: list[str] = field(default_factory=list)

    def living(self) -> list[VoiceRecord]:
        return [voice for voice in self.voices.values() if voice.exists.possible == {True}]
