"""One text on a socket: takes its pieces as they are written, and sends the audio."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from svc.admission.admission import Admission, Place
from svc.api.realtime.messages import ServerMessages
from svc.auth.keys import Principal
from svc.errors import TextTooLong
from svc.metrics import Metrics
from svc.synthesis.request import AudioPart, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.synthesis.streaming import StreamingSynthesis


@dataclass(slots=True)
class _Piece:
    """Text that waits to be spoken."""

    text: str = ""
    complete: bool = False
    """Whether nothing that follows can belong to its last sentence."""
    flushed: bool = False
    """Whether the client asked for all of it, so that it is spoken even if the context is closed."""


@dataclass(frozen=True, slots=True)
class EngineAccess:
    """How a context gets at the engine, and for whom."""

    scheduler: Scheduler
    admission: Admission
    metrics: Metrics
    principal: Principal


class Context:
    """Accepts text at any time; `run` speaks it, piece after piece, as fast as the client reads the audio.

    It takes a place among the streams of its key when it has text to speak, and gives it back when the listener has
    heard everything: a context that waits for text does not count.
    """

    def __init__(
        self,
        request: SynthesisRequest,
        synthesis: StreamingSynthesis,
        engine: EngineAccess,
        messages: ServerMessages,
        send: Callable[[str], Awaitable[None]],
        max_characters: int,
    ) -> None:
        self._request = request
        self._synthesis = synthesis
        self._engine = engine
        self._send = send
        self._place: Place | None = None
        self._max_characters = max_characters
        self.messages = messages
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

    def write(self, text: str, complete: bool = False) -> None:
        """Adds text; `complete` if its last sentence certainly ends with it."""
        if self._closed or not text:
            return
        if not self._waiting or self._waiting[-1].complete or self._waiting[-1].flushed:
            self._waiting.append(_Piece())
        piece = self._waiting[-1]
        piece.text += text
        piece.complete = complete
        self._waiting_characters += len(text)
        if self._waiting_characters > self._max_characters:
            raise TextTooLong(self._waiting_characters, self._max_characters)
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
            if not cancelled:
                for part in self._synthesis.finish():
                    await self._send_part(part)
            await self._send(self.messages.final())
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
        if self._place:
            try:
                async with asyncio.timeout(self._place.playback.buffered_seconds):
                    await self._changed.wait()
                return
            except TimeoutError:
                self._release_place()
        await self._changed.wait()

    async def _speak(self, piece: _Piece) -> None:
        place = await self._take_place(piece.text)
        parts = self._synthesis.feed(piece.text, piece.complete, piece.flushed)
        started = time.monotonic()
        first = True
        async with aclosing(self._engine.scheduler.run(parts, place.playback)) as made:
            async for part in made:
                if first:
                    self._engine.metrics.first_byte_seconds.observe(time.monotonic() - started)
                    first = False
                await self._send_part(part)

    async def _take_place(self, text: str) -> Place:
        engine, seconds = self._engine, self._request.estimate_seconds(text)
        if self._place is None:
            self._place = await engine.admission.admit(engine.principal, len(text), seconds)
        else:
            await engine.admission.spend(engine.principal, len(text))
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
        for message in self.messages.audio(part):
            await self._send(message)
