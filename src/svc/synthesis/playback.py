"""How far the listener of a text is while it is synthesized."""

import time
from contextvars import ContextVar

# When the first audio of a text is due, if others listen already: a gap in the middle is worse than a late beginning.
FIRST_AUDIO_SECONDS = 1.5

# A clip to which nobody listens yet is due so much later than if somebody did: behind all streams, short clips before
# long ones, and none for ever.
_CLIP_SECONDS = 3600.0

# Assumed of a text that turned out longer than estimated.
_LEAST_REMAINING_SECONDS = 1.0


class Playback:
    """Somebody who plays a text as it comes: the next audio is due when they have heard what was made so far."""

    def __init__(
        self, key_id: str = "", seconds: float = 0.0, *, live: bool = True, buffered: float | None = None
    ) -> None:
        """`seconds` is the estimated length. Unless `live`, nobody listens before the text is complete.

        With `buffered`, the listener has so many seconds of audio already.
        """
        self.key_id = key_id
        self.live = live
        self._remaining = seconds
        now = time.monotonic()
        self._first_due = now + FIRST_AUDIO_SECONDS
        self._clip_due = now + (_CLIP_SECONDS + seconds if buffered is None else buffered)
        self.worked_seconds: float | None = None
        """What an engine elsewhere took for the step that runs. Here, waiting and the way there would count, too."""
        # When the listener will have heard all that was made; None before that.
        self._heard_at = None if buffered is None else now + buffered

    def expect(self, seconds: float) -> None:
        """More text has come, of this estimated length."""
        now = time.monotonic()
        self._remaining += seconds
        if self._heard_at is not None and self._heard_at < now:  # a new beginning after a pause
            self._heard_at, self._first_due = None, now + FIRST_AUDIO_SECONDS

    def deadline(self) -> float:
        """When the next audio is due."""
        if not self.live:
            return self._clip_due
        return self._first_due if self._heard_at is None else self._heard_at

    def add(self, seconds: float, asked_at: float) -> float:
        """Notes audio that was asked for at `asked_at`; returns for how many seconds the listener has missed it."""
        now = time.monotonic()
        if not seconds:
            return 0.0
        heard_at = now if self._heard_at is None else self._heard_at
        self._heard_at = max(heard_at, now) + seconds
        self._remaining -= seconds
        return max(0.0, now - max(heard_at, asked_at)) if self.live else 0.0

    def take_worked_seconds(self) -> float | None:
        """Those of a step, once; None if the engine is here."""
        worked, self.worked_seconds = self.worked_seconds, None
        return worked

    @property
    def started(self) -> bool:
        """Whether the listener has any audio."""
        return self._heard_at is not None

    @property
    def buffered_seconds(self) -> float:
        """How long the listener can do without further audio."""
        return max(0.0, self.deadline() - time.monotonic())

    @property
    def remaining_seconds(self) -> float:
        """How much audio is still to be made, as far as that is known."""
        return max(self._remaining, _LEAST_REMAINING_SECONDS)


# Set in the threads of the scheduler: an engine on another machine is told when what it makes is due.
current_playback: ContextVar[Playback | None] = ContextVar("current_playback", default=None)
