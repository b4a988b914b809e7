"""What both kinds of socket have in common: how they begin, how they read, and how they end."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from fastapi import WebSocket, WebSocketDisconnect

from svc.api.authentication import handshake_credential, message_credential
from svc.api.realtime import messages
from svc.api.realtime.context import Context
from svc.api.realtime.messages import Message
from svc.api.realtime.server_messages import ServerMessages
from svc.audio.formats import OutputFormat
from svc.auth.keys import Principal
from svc.auth.verifier import Verifier
from svc.errors import InputTimeout, InternalError, SvcError
from svc.synthesis.pipeline import Pipeline, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.text.language import Language
from svc.voices.catalogue import Voice
from svc.voices.settings_store import VoiceSettingsStore

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Exception)

# For the last frame and the close; a client that takes neither is cut off.
_CLOSING_SECONDS = 5
_SHY_SECONDS = 20
_LONGEST_REASON = 123  # bytes, by RFC 6455


@dataclass(frozen=True, slots=True)
class SessionDependencies:
    """What every session works with."""

    speech: Pipeline
    scheduler: Scheduler
    voice_settings: VoiceSettingsStore
    verifier: Verifier
    max_characters: int


@dataclass(frozen=True, slots=True)
class StreamParameters:
    """What the address of a socket asks for."""

    voice: Voice
    output_format: OutputFormat
    language: Language | None
    seed: int | None
    inactivity_timeout: float
    sync_alignment: bool
    auto_mode: bool


class SocketClose(Exception):
    """Why a socket is closed, in the words of the protocol."""

    def __init__(self, code: int, reason: str = "", error: SvcError | None = None) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
        self.error = error

    @classmethod
    def because(cls, error: SvcError) -> "SocketClose":
        return cls(error.close_code, error.message, error)


class Session(ABC):
    """A reader and, for each text, a speaker, side by side. Whoever raises first ends the session for all of them."""

    def __init__(self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters) -> None:
        self._socket = socket
        self._dependencies = dependencies
        self._parameters = parameters
        self._tasks = asyncio.TaskGroup()
        self._open: dict[Context, asyncio.Task[None]] = {}
        self._leaving = False

    @staticmethod
    async def authenticate(verifier: Verifier, credential: str | None) -> Principal | None:
        """Who it is that asks for a socket, as far as the handshake is to tell; raises to refuse it."""
        return None

    async def run(self, principal: Principal | None) -> None:
        """From the handshake on, which may have told who it is, to the close."""
        ending: SocketClose | None = None
        try:
            async with self._tasks:
                self._tasks.create_task(self._read(principal))
        except* SocketClose as endings:
            ending = _first(endings)
        except* SvcError as errors:
            ending = SocketClose.because(_first(errors))
        except* WebSocketDisconnect:
            pass
        except* Exception as errors:
            log.error("a socket failed", exc_info=_first(errors))
            ending = SocketClose.because(InternalError())
        self._leaving = True
        if ending:
            await close(self._socket, ending)

    def leave(self) -> None:
        """The server shuts down: what was flushed is finished, the rest is not."""
        self._end_with(SocketClose(1012, "The server is restarting. What was flushed has been spoken."))

    @abstractmethod
    async def _take(self, message: Message) -> None:
        """Does what a message asks for."""

    async def _speak(self, context: Context, earlier: Collection[asyncio.Task[None]]) -> None:
        """Speaks a text, after earlier ones of the same name."""
        if earlier:
            await asyncio.wait(earlier)
        await context.run()

    async def _read(self, principal: Principal | None) -> None:
        # Who has not said who they are may not keep a place for long.
        patience = (
            self._parameters.inactivity_timeout if principal else min(self._parameters.inactivity_timeout, _SHY_SECONDS)
        )
        while True:
            raw = await self._receive(patience)
            if self._leaving:
                continue  # the client may say what it likes; only its going away is of interest
            message = messages.decode(raw)
            if principal is None:
                principal = await self._dependencies.verifier.admit(
                    handshake_credential(self._socket) or message_credential(message)
                )
            else:
                await self._dependencies.verifier.recheck(principal)
            await self._take(messages.parse(message))
            patience = self._parameters.inactivity_timeout

    async def _receive(self, patience: float) -> str | bytes:
        while True:
            try:
                async with asyncio.timeout(patience):
                    event = await self._socket.receive()
            except TimeoutError:
                if self._leaving or any(context.busy for context in self._open):
                    continue
                raise InputTimeout(patience) from None
            if event["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(event["code"])
            content: str | bytes | None = event.get("text")
            return event["bytes"] if content is None else content

    def _begin(self, message: Message, context_id: str | None = None) -> Context:
        """A new text, spoken as its first message asks for."""
        parameters, dependencies = self._parameters, self._dependencies
        settings = dependencies.voice_settings.get(parameters.voice.voice_id)
        if message.voice_settings:
            settings = message.voice_settings.over(settings)
        request = SynthesisRequest("", parameters.voice, settings, parameters.language, parameters.seed)
        context = Context(
            dependencies.speech.start_streaming(request, parameters.output_format, message.schedule()),
            dependencies.scheduler,
            ServerMessages(context_id, parameters.sync_alignment),
            self._socket.send_text,
            dependencies.max_characters,
        )
        earlier = [task for each, task in self._open.items() if each.frames.context_id == context_id]
        task = self._open[context] = self._tasks.create_task(self._speak(context, earlier))
        task.add_done_callback(lambda _: self._open.pop(context))
        return context

    def _end_with(self, ending: SocketClose) -> None:
        """Ends the session in this way once everything that was flushed has been spoken."""
        if not self._leaving:
            self._leaving = True
            for context in self._open:
                context.close()
            self._tasks.create_task(self._finish(ending))

    async def _finish(self, ending: SocketClose) -> None:
        if self._open:
            await asyncio.wait(self._open.values())
        raise ending


async def close(socket: WebSocket, ending: SocketClose) -> None:
    try:
        async with asyncio.timeout(_CLOSING_SECONDS):
            if ending.error:
                await socket.send_text(ServerMessages().error(ending.error))
            await socket.close(ending.code, ending.reason)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        pass  # the client has gone, or takes nothing any more: there is nobody to tell


def _first(group: ExceptionGroup[E]) -> E:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
