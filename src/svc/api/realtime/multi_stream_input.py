"""`…/multi-stream-input`: several texts on one socket, each with an id, of which any may be broken off."""

import asyncio
import logging
from collections.abc import Collection

from fastapi import WebSocket, WebSocketDisconnect

from svc.api.realtime.context import Context
from svc.api.realtime.messages import Message
from svc.api.realtime.server_messages import ServerMessages
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters
from svc.auth.keys import Principal
from svc.auth.verifier import Verifier
from svc.errors import InternalError, InvalidMessage, SvcError, TooManyContexts
from svc.text.split import surely_ends

log = logging.getLogger(__name__)

_DEFAULT_ID = "default"

# Open at once; clients keep one or two.
MAX_CONTEXTS = 32


class MultiStreamInput(Session):
    def __init__(self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters) -> None:
        super().__init__(socket, dependencies, parameters)
        self._texts: dict[str, Context] = {}

    @staticmethod
    async def authenticate(verifier: Verifier, credential: str | None) -> Principal | None:
        """A wrong key is refused with the handshake: after it, clients of this protocol would try again and again."""
        return await verifier.admit(credential) if credential else None

    async def _take(self, message: Message) -> None:
        if message.close_socket:
            self._end_with(SocketClose(1000))
            return
        if message.text is None and not (message.flush or message.close_context):
            raise InvalidMessage('it has none of "text", "flush", "close_context" and "close_socket"')
        context_id = message.context_id or _DEFAULT_ID
        context = self._texts.get(context_id)
        if context is None and message.text:
            if len(self._open) >= MAX_CONTEXTS:
                await self._socket.send_text(ServerMessages(context_id).error(TooManyContexts(MAX_CONTEXTS)))
                return
            context = self._texts[context_id] = self._begin(message, context_id)
        if context is None:
            if message.close_context:
                self._cancel(context_id)
            return  # otherwise a keep-alive, or the end of what has already ended
        if message.text:
            self._write(context, message.text)
        if message.flush:
            context.flush()
        if message.close_context:
            del self._texts[context_id]
            context.close()

    def _cancel(self, context_id: str) -> None:
        """Who closes a text again, while it is still being spoken, has been interrupted and wants no more of it."""
        for context in self._open:
            if context.frames.context_id == context_id:
                context.cancel()

    def _write(self, context: Context, text: str) -> None:
        """Some clients send whole sentences with no space between them."""
        complete = surely_ends(text)
        separator = " " if complete and not text[-1].isspace() else ""
        context.write(text + separator, complete and self._parameters.auto_mode)

    async def _speak(self, context: Context, earlier: Collection[asyncio.Task[None]]) -> None:
        """What goes wrong with one text is told to the client, and the others go on."""
        try:
            await super()._speak(context, earlier)
        except WebSocketDisconnect:
            raise
        except Exception as problem:
            if not isinstance(problem, SvcError):
                log.exception("a text on a socket failed")
            error = problem if isinstance(problem, SvcError) else InternalError()
            await self._socket.send_text(context.frames.error(error))
            await self._socket.send_text(context.frames.final())
            self._forget(context)

    def _forget(self, context: Context) -> None:
        self._texts = {key: each for key, each in self._texts.items() if each is not context}
