"""The web server, uvicorn, as this service needs it."""

import logging
import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from svc.api.realtime.connections import Connections
from svc.api.realtime.messages import MAX_MESSAGE_CHARACTERS
from svc.settings import Settings


def create_server(app: FastAPI, settings: Settings) -> "Server":
    config = uvicorn.Config(
        app,
        log_config=_logging(),
        log_level="info",
        access_log=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        ws=_Socket,
        ws_max_size=2 * MAX_MESSAGE_CHARACTERS,
        ws_per_message_deflate=False,  # sound in Base64 hardly gets smaller, only later
    )
    logging.getLogger("uvicorn.error").addFilter(_is_worth_a_line)
    return Server(config, app.state.sockets, settings.shutdown_seconds)


def _logging() -> dict[str, Any]:
    """uvicorn's, with the service's own lines: who cloned which voice has to be on record."""
    own = {"handlers": ["default"], "level": "INFO", "propagate": False}
    return {**LOGGING_CONFIG, "loggers": {**LOGGING_CONFIG["loggers"], "svc": own}}


class Server(uvicorn.Server):
    """Says where it listens, once it does; and lets sockets finish before it cuts them off."""

    def __init__(self, config: uvicorn.Config, realtime: Connections, patience: float) -> None:
        super().__init__(config)
        self._realtime = realtime
        self._patience = patience

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"svc listens on http://{shown}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._realtime.close(self._patience)
        await super().shutdown(sockets)


class _Socket(WebSocketsSansIOProtocol):
    """Ends as one would wish: a client is told why, and one that takes nothing is let go of.

    A transport that is merely closed waits forever for a client that does not read; and one that is closed
    while something is still coming in is reset, with the reason lost.
    """

    def data_received(self, data: bytes) -> None:
        if self.conn.parser_exc is None:  # else it has been told, and the rest of what it sends is of no interest
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        reason = self.conn.close_sent
        assert reason is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": reason.code, "reason": reason.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(self.close_timeout, self.transport.abort)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Not each socket's coming and going, least of all its whole address, which may hold credentials.

    Nor that a handshake was refused, which uvicorn takes for a mistake.
    """
    return not str(record.msg).startswith(("connection ", '%s - "WebSocket ', "ASGI callable returned without"))
