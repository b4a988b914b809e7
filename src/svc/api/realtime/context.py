"""One text on a socket: takes its pieces as they are written, and sends the audio."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic

from svc.admission.admission import Admission, Place
from svc.api.realtime.server_messages import Message, ServerMessages
from svc.auth.keys import Principal
from svc.errors import TextTooLong
from svc.observability.metrics import Metrics
from svc.synthesis.request import AudioPart, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.synthesis.streaming import StreamingSynthesis


@dataclass(slots=True)
class _Piece:
    """Text that waits to be spoken."""

    turn: SynthesisRequest
    text: str = ""
    complete: bool = False
    """Whether nothing that follows can belong to its last sentence."""
    flushed: bool = False
    """Whether the client asked for all of it, so that it is spoken even if the context is closed."""
    ends_turn: bool = False
    """Whether somebody else speaks next."""


@dataclass(frozen=True, slots=True)
class EngineAccess:
    """How a context gets at the engine, and for whom."""

    scheduler: Scheduler
    admission: Admission
    metrics: Metrics
    principal: Principal


class Context(Generic[Message]):
    """Accepts text at any time; `run` speaks it, piece after piece, as fast as the client reads the audio.

    Text belongs to a turn, which says how it is spoken. A dialogue has several, other texts one.

    It takes a place among the streams of its key when it has text to speak, and gives it back when the listener has
    heard everything: a context that waits for text does not count.
    """

    def __init__(
        self,
        synthesis: StreamingSynthesis,
        engine: EngineAccess,
        messages: ServerMessages[Message],
        send: Callable[[Message], Awaitable[None]],
        max_characters: int,
        max_idle_seconds: float | None = None,
        context_id: str | None = None,
    ) -> None:
        """With `max_idle_seconds`, it finishes by itself when nothing was spoken or sent for so long."""
        self._synthesis = synthesis
        self._engine = engine
        self._send = send
        self.context_id = context_id
        self._place: Place | None = None
        self._max_characters = max_characters
        self._max_idle_seconds = max_idle_seconds
        self._messages = messages
        self._turn: SynthesisRequest | None = None
        self._turn_audible = False  # whether audio of the turn was sent since its end was last announced
        self._waiting: deque[_Piece] = deque()
        self._waiting_characters = 0
        self._current: _Piece | None = None
        self._sending: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether there is text to speak."""
        return self._current is not None or bool(self._waiting)

    def begin_turn(self, turn: SynthesisRequest) -> None:
        """The text that follows is spoken in this way; the turn before it is complete."""
        if self._turn and not self._closed:
            if not self._waiting:
                self._waiting.append(_Piece(self._turn))
            self._waiting[-1].complete = self._waiting[-1].ends_turn = True
            self._changed.set()
        self._turn = turn

    def write(self, text: str, complete: bool = False) -> None:
        """Adds text to the turn; `complete` if its last sentence certainly ends with it."""
        if self._closed or not text or self._turn is None:
            return
        if not self._waiting or self._waiting[-1].complete or self._waiting[-1].flushed:
            self._waiting.append(_Piece(self._turn))
        piece = self._waiting[-1]
        piece.text += text
        piece.complete = complete
        self._waiting_characters += len(text)
        if self._waiting_characters > self._max_characters:
            raise TextTooLong(self._waiting_characters, self._max_characters)
        self._changed.set()

    def flush(self) -> None:
        """Makes everything up to here be spoken now."""
        if self._closed or self._turn is None:
            return
        if not self._waiting:
            self._waiting.append(_Piece(self._turn))
        self._waiting[-1].flushed = True
        self._changed.set()

    def keep_alive(self) -> None:
        """Begins to count the idle time anew."""
        self._changed.set()

    def finish(self) -> None:
        """Speaks everything, then ends."""
        self.flush()
        self.close()

    def close(self) -> None:
        """Finishes what was flushed, and drops the rest at once."""
        while self._waiting and not self._waiting[-1].flushed:
            self._waiting_characters -= len(self._waiting.pop().text)
        if self._sending and self._current and not self._waiting and not self._current.flushed:
            self._sending.cancel()
        self._closed = True
        self._changed.set()

    def cancel(self) -> None:
        """Drops everything at once, also what was flushed."""
        self._waiting.clear()
        self._waiting_characters = 0
        if self._sending:
            self._sending.cancel()
        self._closed = True
        self._changed.set()

    async def run(self) -> None:
        """Speaks until the context is closed, then sends the last message."""
        try:
            cancelled = False
            while not cancelled and (piece := await self._next()):
                self._current = piece
                cancelled = not await self._run_cancellable(self._speak(piece))
                self._current = None
                if (piece.ends_turn or piece.flushed) and not (self._closed and not self._waiting):
                    await self._announce_end_of_turn()
            if not cancelled:
                for part in self._synthesis.finish():
                    await self._send_part(part)
                await self._announce_end_of_turn()
            await self._send(self._messages.final())
        finally:
            self._release_place()

    async def _next(self) -> _Piece | None:
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._wait_for_text()
        if not self._waiting:
            return None
        piece = self._waiting.popleft()
        self._waiting_characters -= len(piece.text)
        return piece

    async def _wait_for_text(self) -> None:
        """Gives the place back if the listener has heard everything before more text comes."""
        idle = self._max_idle_seconds
        if self._place:
            seconds = self._place.playback.buffered_seconds
            if await self._wait_for_change(seconds):
                return
            self._release_place()
            idle = None if idle is None else max(0.0, idle - seconds)
        if not await self._wait_for_change(idle):
            self.finish()

    async def _wait_for_change(self, seconds: float | None) -> bool:
        """Whether anything came within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _speak(self, piece: _Piece) -> None:
        place = await self._take_place(piece)
        parts = self._synthesis.feed(piece.turn, piece.text, piece.complete, piece.flushed)
        started = time.monotonic()
        first = True
        async with aclosing(self._engine.scheduler.run(parts, place.playback)) as made:
            async for part in made:
                if not part.audio:
                    continue
                if first:
                    self._engine.metrics.first_byte_seconds.observe(time.monotonic() - started)
                    first = False
                await self._send_part(part)

    async def _take_place(self, piece: _Piece) -> Place:
        engine, seconds = self._engine, piece.turn.estimate_seconds(piece.text)
        if self._place is None:
            self._place = await engine.admission.admit(engine.principal, len(piece.text), seconds)
        else:
            await engine.admission.spend(engine.principal, len(piece.text))
            self._place.playback.expect(seconds)
        return self._place

    def _release_place(self) -> None:
        if self._place:
            self._place.release()
            self._place = None

    async def _run_cancellable(self, work: Coroutine[Any, Any, None]) -> bool:
        """Runs in a task of its own, which `close` can cancel; returns whether it came to the end."""
        self._sending = asyncio.create_task(work)
        try:
            await asyncio.wait({self._sending})
        except asyncio.CancelledError:
            self._sending.cancel()
            await asyncio.wait({self._sending})
            raise
        if self._sending.cancelled():
            return False
        self._sending.result()
        return True

    async def _send_part(self, part: AudioPart) -> None:
        self._turn_audible = True
        for message in self._messages.audio(part):
            await self._send(message)

    async def _announce_end_of_turn(self) -> None:
        if self._turn_audible and (message := self._messages.end_of_turn()):
            await self._send(message)
        self._turn_audible = False
