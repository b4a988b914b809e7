"""One text on a socket: takes it in as it is written, and sends its speech."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from svc.api.realtime.server_messages import ServerMessages
from svc.errors import TextTooLong
from svc.synthesis.pipeline import Parts, StreamingSynthesis, playback_clock
from svc.synthesis.scheduler import Scheduler


@dataclass(slots=True)
class _Piece:
    """Text that waits for its turn."""

    text: str = ""
    complete: bool = False
    """Whether nothing that follows can belong to its last sentence."""
    flushed: bool = False
    """Whether the client asked for all of it, so that it is spoken even if the context is closed."""


class Context:
    """Text is accepted at any time; `run` speaks it, piece after piece, as fast as the client takes the sound."""

    def __init__(
        self,
        start_streaming: StreamingSynthesis,
        scheduler: Scheduler,
        frames: ServerMessages,
        send: Callable[[str], Awaitable[None]],
        max_characters: int,
    ) -> None:
        self._dictation = start_streaming
        self._scheduler = scheduler
        self._send = send
        self._listener = playback_clock()
        self._max_characters = max_characters
        self.frames = frames
        self._waiting: deque[_Piece] = deque()
        self._current: _Piece | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether there is something to say."""
        return self._current is not None or bool(self._waiting)

    def write(self, text: str, complete: bool = False) -> None:
        """Adds text; `complete` if its last sentence certainly ends with it."""
        if self._closed or not text:
            return
        if not self._waiting or self._waiting[-1].complete or self._waiting[-1].flushed:
            self._waiting.append(_Piece())
        piece = self._waiting[-1]
        piece.text += text
        piece.complete = complete
        if (length := sum(len(piece.text) for piece in self._waiting)) > self._max_characters:
            raise TextTooLong(length, self._max_characters)
        self._changed.set()

    def flush(self) -> None:
        """Everything up to here is to be spoken now."""
        if self._closed:
            return
        if not self._waiting:
            self._waiting.append(_Piece())
        self._waiting[-1].flushed = True
        self._changed.set()

    def close(self) -> None:
        """Finishes what was flushed, and drops the rest at once."""
        while self._waiting and not self._waiting[-1].flushed:
            self._waiting.pop()
        if self._speaking and self._current and not self._waiting and not self._current.flushed:
            self._speaking.cancel()
        self._closed = True
        self._changed.set()

    def cancel(self) -> None:
        """Drops everything at once, also what was flushed."""
        self._waiting.clear()
        if self._speaking:
            self._speaking.cancel()
        self._closed = True
        self._changed.set()

    async def run(self) -> None:
        """Speaks until the context is closed, and says so."""
        cut_off = False
        while not cut_off and (piece := await self._next()):
            self._current = piece
            cut_off = not await self._spoken(self._dictation.say(piece.text, piece.complete, piece.flushed))
            self._current = None
        if not cut_off:
            await self._speak(self._dictation.end())
        await self._send(self.frames.final())

    async def _next(self) -> _Piece | None:
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft() if self._waiting else None

    async def _spoken(self, parts: Parts) -> bool:
        """Speaks in a task of its own, which `close` can cut off; tells whether it came to the end."""
        self._speaking = asyncio.create_task(self._speak(parts))
        try:
            await asyncio.wait({self._speaking})
        except asyncio.CancelledError:
            self._speaking.cancel()
            await asyncio.wait({self._speaking})
            raise
        if self._speaking.cancelled():
            return False
        self._speaking.result()
        return True

    async def _speak(self, parts: Parts) -> None:
        async with aclosing(self._scheduler.run(parts, self._listener)) as made:
            async for part in made:
                for frame in self.frames.audio(part):
                    await self._send(frame)
