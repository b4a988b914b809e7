"""Who is calling, and what they may do."""

from dataclasses import dataclass, field
from enum import StrEnum


class Scope(StrEnum):
    FULL = "full"
    """Everything."""
    TTS = "tts"
    """To speak and to see the voices: what is safe in a browser for a while."""
    TTS_WEBSOCKET = "tts_websocket"
    """To open one realtime socket."""


@dataclass(frozen=True, slots=True)
class Principal:
    key_id: str
    """Names the key, never tells it; a token carries the name of the key that it was made with."""
    scopes: frozenset[Scope]
    expires_at: int | None = None
    digest: str | None = field(default=None, repr=False)
    """What to look for in the keys table again; None when there is nothing to look for."""

    def may(self, *scopes: Scope) -> bool:
        """Whether one of these scopes, or the full one, was given."""
        return Scope.FULL in self.scopes or not self.scopes.isdisjoint(scopes)


ANYONE = Principal("anyone", frozenset({Scope.FULL}))
"""Who calls a service that asks for no key."""
