"""One text on a socket: takes its pieces as they are written, and sends the audio."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from svc.api.realtime.messages import ServerMessages
from svc.errors import TextTooLong
from svc.synthesis.request import Parts
from svc.synthesis.scheduler import Scheduler, audio_clock
from svc.synthesis.streaming import StreamingSynthesis


@dataclass(slots=True)
class _Piece:
    """Text that waits to be spoken."""

    text: str = ""
    complete: bool = False
    """Whether nothing that follows can belong to its last sentence."""
    flushed: bool = False
    """Whether the client asked for all of it, so that it is spoken even if the context is closed."""


class Context:
    """Accepts text at any time; `run` speaks it, piece after piece, as fast as the client reads the audio."""

    def __init__(
        self,
        synthesis: StreamingSynthesis,
        scheduler: Scheduler,
        messages: ServerMessages,
        send: Callable[[str], Awaitable[None]],
        max_characters: int,
    ) -> None:
        self._synthesis = synthesis
        self._scheduler = scheduler
        self._send = send
        self._clock = audio_clock()
        self._max_characters = max_characters
        self.messages = messages
        self._waiting: deque[_Piece] = deque()
        self._current: _Piece | None = None
        self._sending: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether there is text to speak."""
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
        """Makes everything up to here be spoken now."""
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
        if self._sending and self._current and not self._waiting and not self._current.flushed:
            self._sending.cancel()
        self._closed = True
        self._changed.set()

    def cancel(self) -> None:
        """Drops everything at once, also what was flushed."""
        self._waiting.clear()
        if self._sending:
            self._sending.cancel()
        self._closed = True
        self._changed.set()

    async def run(self) -> None:
        """Speaks until the context is closed, then sends the last message."""
        cancelled = False
        while not cancelled and (piece := await self._next()):
            self._current = piece
            cancelled = not await self._send_cancellable(
                self._synthesis.feed(piece.text, piece.complete, piece.flushed)
            )
            self._current = None
        if not cancelled:
            await self._send_audio(self._synthesis.finish())
        await self._send(self.messages.final())

    async def _next(self) -> _Piece | None:
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft() if self._waiting else None

    async def _send_cancellable(self, parts: Parts) -> bool:
        """Sends in a task of its own, which `close` can cancel; returns whether it came to the end."""
        self._sending = asyncio.create_task(self._send_audio(parts))
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

    async def _send_audio(self, parts: Parts) -> None:
        async with aclosing(self._scheduler.run(parts, self._clock)) as made:
            async for part in made:
                for message in self.messages.audio(part):
                    await self._send(message)
