"""What protocols with several contexts on one socket share: a context that fails does not end the others."""

import asyncio
import logging
from collections.abc import Collection

from fastapi import WebSocket, WebSocketDisconnect

from svc.api.realtime.context import Context
from svc.api.realtime.messages import M
from svc.api.realtime.session import Session, SessionDependencies, StreamParameters
from svc.auth.keys import Principal
from svc.auth.verifier import Verifier
from svc.errors import InternalError, SvcError

log = logging.getLogger(__name__)


class MultiContextSession(Session[M]):
    """Several texts, each with an id; any of them can be cancelled."""

    def __init__(self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters) -> None:
        super().__init__(socket, dependencies, parameters)
        self._contexts: dict[str, Context[str]] = {}  # those that the client has not closed

    @staticmethod
    async def authenticate(verifier: Verifier, credential: str | None) -> Principal | None:
        """Refuses a wrong key at the handshake: after it, clients of these protocols would retry for ever."""
        return await verifier.admit(credential) if credential else None

    def _close_context(self, context_id: str) -> None:
        """Ends a context. A second close, while it is still being spoken, cancels it: the user has interrupted."""
        if context := self._contexts.pop(context_id, None):
            self._end_context(context)
            return
        for context in self._open:
            if context.context_id == context_id:
                context.cancel()

    async def _run_context(self, context: Context[str], earlier: Collection[asyncio.Task[None]]) -> None:
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
            messages = self.messages(context.context_id)
            await self._socket.send_text(messages.error(error))
            await self._socket.send_text(messages.final())
        finally:
            self._contexts = {key: each for key, each in self._contexts.items() if each is not context}
