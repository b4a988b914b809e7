"""The two protocols: `…/stream-input`, one text on a socket, and `…/multi-stream-input`, several with an id each."""

import asyncio
import logging
from collections.abc import Callable, Collection

from fastapi import WebSocket, WebSocketDisconnect

from svc.api.realtime.context import Context
from svc.api.realtime.messages import Message, ServerMessages
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters
from svc.auth.keys import Principal
from svc.auth.verifier import Verifier
from svc.errors import InternalError, InvalidMessage, SvcError, TooManyContexts
from svc.text.split import ends_sentence
from svc.voices.catalogue import Voice

log = logging.getLogger(__name__)

_DEFAULT_ID = "default"

# Open at once on one socket; clients keep one or two.
MAX_CONTEXTS = 32


class StreamInput(Session):
    """One text, which ends with an empty message."""

    _context: Context | None = None

    async def _handle(self, message: Message) -> None:
        first = self._context is None
        self._context = self._context or self._start_context(message)
        if message.text:
            self._context.write(message.text, self._parameters.auto_mode and ends_sentence(message.text))
        elif message.text is None and not first and not message.flush:
            raise InvalidMessage('"text" is missing')
        if message.flush:
            self._context.flush()
        if message.text == "":
            self._context.flush()
            self._close_when_done(SocketClose(1000))


class MultiStreamInput(Session):
    """Several texts, each with an id; any of them can be cancelled."""

    def __init__(
        self,
        socket: WebSocket,
        dependencies: SessionDependencies,
        parameters: StreamParameters,
        resolve_voice: Callable[[Principal], Voice],
    ) -> None:
        super().__init__(socket, dependencies, parameters, resolve_voice)
        self._contexts: dict[str, Context] = {}

    @staticmethod
    async def authenticate(verifier: Verifier, credential: str | None) -> Principal | None:
        """Refuses a wrong key at the handshake: after it, clients of this protocol would retry for ever."""
        return await verifier.admit(credential) if credential else None

    async def _handle(self, message: Message) -> None:
        if message.close_socket:
            self._close_when_done(SocketClose(1000))
            return
        if message.text is None and not (message.flush or message.close_context):
            raise InvalidMessage('one of "text", "flush", "close_context" or "close_socket" is required')
        context_id = message.context_id or _DEFAULT_ID
        context = self._contexts.get(context_id)
        if context is None and message.text:
            if len(self._open) >= MAX_CONTEXTS:
                await self._socket.send_text(ServerMessages(context_id).error(TooManyContexts(MAX_CONTEXTS)))
                return
            context = self._contexts[context_id] = self._start_context(message, context_id)
        if context is None:
            if message.close_context:
                self._cancel_context(context_id)
            return  # otherwise a keep-alive, or a context that has already ended
        if message.text:
            self._write(context, message.text)
        if message.flush:
            context.flush()
        if message.close_context:
            del self._contexts[context_id]
            context.close()

    def _cancel_context(self, context_id: str) -> None:
        """Closing a context a second time, while it is still being spoken, cancels it: the user has interrupted."""
        for context in self._open:
            if context.messages.context_id == context_id:
                context.cancel()

    def _write(self, context: Context, text: str) -> None:
        """Adds the space that some clients leave out between whole sentences."""
        complete = ends_sentence(text)
        separator = " " if complete and not text[-1].isspace() else ""
        context.write(text + separator, complete and self._parameters.auto_mode)

    async def _run_context(self, context: Context, earlier: Collection[asyncio.Task[None]]) -> None:
        """Reports an error in one text to the client; the other texts go on."""
        try:
            await super()._run_context(context, earlier)
        except WebSocketDisconnect:
            raise
        except Exception as problem:
            if not isinstance(problem, SvcError):
                log.exception("a text on a socket failed")
            error = problem if isinstance(problem, SvcError) else InternalError()
            self._dependencies.metrics.count_refusal(error)
            await self._socket.send_text(context.messages.error(error))
            await self._socket.send_text(context.messages.final())
            self._remove(context)

    def _remove(self, context: Context) -> None:
        self._contexts = {key: each for key, each in self._contexts.items() if each is not context}
