"""What all protocols share: authentication, reading messages, starting contexts, closing."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from fastapi import WebSocket, WebSocketDisconnect

from svc.admission.admission import Admission
from svc.api.authentication import CREDENTIAL_FIELDS, read_handshake_credential, read_message_credential
from svc.api.errors import note_error
from svc.api.input_budget import InputBudget
from svc.api.realtime import messages
from svc.api.realtime.connections import WEBSOCKET, Connections
from svc.api.realtime.context import Context, EngineAccess
from svc.api.realtime.messages import M
from svc.api.realtime.server_messages import SocketMessages
from svc.api.speech.dialogue_voices import DialogueVoices
from svc.api.speech.schemas import list_names
from svc.audio.formats import OutputFormat
from svc.auth.keys import ANYONE, Principal
from svc.auth.verifier import Verifier
from svc.dictionaries.catalogue import Dictionaries
from svc.errors import InputTimeout, InternalError, SvcError
from svc.observability.metrics import Metrics
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.scheduler import Scheduler
from svc.synthesis.streaming import StreamingSynthesis
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Exception)

_CLOSE_TIMEOUT = 5  # seconds for the last message and the close; a client that reads neither is cut off
_UNAUTHENTICATED_TIMEOUT = 20  # seconds
_MAX_REASON_BYTES = 123  # RFC 6455


@dataclass(frozen=True, slots=True)
class SessionDependencies:
    """The parts of the service that a session uses."""

    pipeline: Pipeline
    scheduler: Scheduler
    admission: Admission
    metrics: Metrics
    voices: VoiceCatalogue
    voice_settings: VoiceSettingsStore
    dialogue_voices: DialogueVoices
    dictionaries: Dictionaries
    verifier: Verifier
    connections: Connections
    input_budget: InputBudget
    max_characters: int


@dataclass(frozen=True, slots=True)
class StreamParameters:
    """What the URL of a socket asks for."""

    output_format: OutputFormat
    language_code: str | None
    seed: int | None
    inactivity_timeout: float
    sync_alignment: bool
    auto_mode: bool

    def parse_language(self, voice: Voice) -> Language | None:
        """The language that the client named, if it is one that the engine speaks."""
        return Language.parse(self.language_code, voice.language) if self.language_code else None


class SocketClose(Exception):
    """The code and reason with which a socket is closed."""

    def __init__(self, code: int, reason: str = "", error: SvcError | None = None) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")
        self.error = error

    @classmethod
    def from_error(cls, error: SvcError) -> "SocketClose":
        return cls(error.close_code, error.message, error)


class Session(ABC, Generic[M]):
    """One task reads messages and one task speaks each text. The first that raises ends the session for all."""

    protocol: ClassVar[str] = WEBSOCKET
    message_type: type[M]
    messages: ClassVar[type[SocketMessages]]

    def __init__(self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters) -> None:
        self._socket = socket
        self._dependencies = dependencies
        self._parameters = parameters
        self._tasks = asyncio.TaskGroup()
        self._open: dict[Context[str], asyncio.Task[None]] = {}
        self._draining = False
        self._ending: SocketClose | None = None
        self._has_ending = asyncio.Event()
        self.principal: Principal | None = None
        """Who speaks; known before the first message is handled."""
        self.characters = 0
        """Of all texts so far."""
        self.voice_ids: list[str] = []
        """Of the voices that may have spoken."""
        self.is_silent = True
        """Whether it has neither authenticated nor sent a valid message."""

    @staticmethod
    async def authenticate(verifier: Verifier, credential: str | None) -> Principal | None:
        """Checks the credential of the handshake, if the protocol wants that; raises to refuse the socket."""
        return None

    async def run(self, principal: Principal | None) -> None:
        """Runs from the handshake to the close; `principal` is None when the first message has to authenticate."""
        ending: SocketClose | None = None
        if not self._dependencies.verifier.open:  # in an open service any credential is accepted and says nothing
            self.is_silent = principal is None
        try:
            async with self._tasks:
                self._tasks.create_task(self._read(principal))
                self._tasks.create_task(self._finish())
        except* SocketClose as endings:
            ending = _first(endings)
        except* SvcError as errors:
            ending = SocketClose.from_error(_first(errors))
        except* WebSocketDisconnect:
            pass
        except* Exception as errors:
            log.error("a socket failed", exc_info=_first(errors))
            ending = SocketClose.from_error(InternalError())
        self._draining = True
        if ending:
            await close(self._socket, ending, self.messages())

    @property
    def makes_way(self) -> bool:
        return self.is_silent

    def drain(self) -> None:
        """Ends the session at shutdown: what was flushed is spoken, the rest is dropped."""
        self._close_when_done(SocketClose(1012, "The server is restarting. All flushed text has been synthesized."))

    def evict(self) -> None:
        self._close_when_done(SocketClose(1013, "Closed for another socket, because this one had sent nothing yet."))

    def _identify(self, principal: Principal) -> None:
        """Called as soon as it is known who speaks, and before each message; raises to end the session.

        Earlier, a refusal would tell strangers which voices exist.
        """

    @abstractmethod
    async def _handle(self, message: M) -> None:
        """Does what a message asks for."""

    @abstractmethod
    def _end_context(self, context: Context[str]) -> None:
        """Ends a text as the protocol does it."""

    async def _end_idle_contexts(self) -> None:
        """Ends the texts of a client that has sent nothing for too long, if the protocol wants that."""

    async def _run_context(self, context: Context[str], earlier: Collection[asyncio.Task[None]]) -> None:
        """Speaks a text, after earlier ones with the same id."""
        if earlier:
            await asyncio.wait(earlier)
        await context.run()

    async def _read(self, principal: Principal | None) -> None:
        # Unauthenticated sockets are closed after 20 s.
        timeout = self._parameters.inactivity_timeout
        if principal is None:
            timeout = min(timeout, _UNAUTHENTICATED_TIMEOUT)
        if principal or self._dependencies.verifier.open:
            self._identify(principal or ANYONE)
        names = list_names(self.message_type) | CREDENTIAL_FIELDS
        self._socket.state.authenticated = principal is not None or self._dependencies.verifier.open
        while True:
            raw = await self._receive(timeout)
            if self._draining:
                continue  # only a disconnect matters now
            trusted = self._socket.state.authenticated
            limit = messages.MAX_MESSAGE_CHARACTERS if trusted else messages.MAX_FIRST_MESSAGE_CHARACTERS
            message = await messages.decode(raw, names, limit)
            if principal is None:
                principal = await self._dependencies.verifier.admit(
                    read_handshake_credential(self._socket) or read_message_credential(message)
                )
            else:
                principal = await self._dependencies.verifier.recheck(principal)
            self._dependencies.connections.identify(self, principal)
            self._socket.state.authenticated = True  # the server takes larger messages now
            self._identify(principal)
            parsed = messages.parse(self.message_type, message)
            self.characters += parsed.characters
            await self._handle(parsed)
            self.is_silent = False
            timeout = self._parameters.inactivity_timeout

    async def _receive(self, idle_seconds: float) -> str | bytes:
        while True:
            try:
                async with asyncio.timeout(idle_seconds):
                    event = await self._socket.receive()
            except TimeoutError:
                if self._draining or any(context.busy for context in self._open):
                    continue
                await self._end_idle_contexts()
                raise InputTimeout(idle_seconds) from None
            if event["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(event["code"])
            content: str | bytes | None = event.get("text")
            return event["bytes"] if content is None else content

    def _start_context(
        self, context_id: str | None, schedule: Sequence[int], *, align_all: bool = False, idle: float | None = None
    ) -> Context[str]:
        """Starts a new text; `align_all` and `idle` are those of `StreamingSynthesis` and `Context`."""
        parameters, dependencies = self._parameters, self._dependencies
        assert self.principal is not None
        context = Context(
            StreamingSynthesis(dependencies.pipeline, parameters.output_format, schedule, align_all),
            EngineAccess(dependencies.scheduler, dependencies.admission, dependencies.metrics, self.principal),
            self.messages(context_id, parameters.sync_alignment),
            self._socket.send_text,
            dependencies.max_characters,
            idle,
            context_id,
        )
        earlier = [task for each, task in self._open.items() if each.context_id == context_id]
        task = self._open[context] = self._tasks.create_task(self._run_context(context, earlier))
        task.add_done_callback(lambda _: self._open.pop(context))
        return context

    def _close_when_done(self, ending: SocketClose) -> None:
        """Closes the socket once its texts have ended. It may not have begun, or may have ended at this moment."""
        if not self._draining:
            self._draining = True
            self._ending = ending
            self._has_ending.set()
            for context in self._open:
                self._end_context(context)

    async def _finish(self) -> None:
        await self._has_ending.wait()
        if self._open:
            await asyncio.wait(self._open.values())
        assert self._ending is not None
        raise self._ending


async def close(socket: WebSocket, ending: SocketClose, messages: SocketMessages) -> None:
    if ending.error:
        note_error(socket.scope, ending.error)
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT):
            if ending.error:
                await socket.send_text(messages.error(ending.error))
            await socket.close(ending.code, ending.reason)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        pass  # the client has gone, or reads nothing any more


def _first(group: ExceptionGroup[E]) -> E:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
