"""The web server: uvicorn, with this service's logging, start message and shutdown of sockets."""

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
        log_config=_logging_config(),
        log_level="info",
        access_log=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        ws=_WebSocketProtocol,
        ws_max_size=2 * MAX_MESSAGE_CHARACTERS,
        ws_per_message_deflate=False,  # compressing Base64 audio costs time and saves little
    )
    logging.getLogger("uvicorn.error").addFilter(_keep_record)
    return Server(config, app.state.connections, settings.shutdown_seconds)


def _logging_config() -> dict[str, Any]:
    """uvicorn's configuration, with the service's own log lines, such as who cloned which voice."""
    own = {"handlers": ["default"], "level": "INFO", "propagate": False}
    return {**LOGGING_CONFIG, "loggers": {**LOGGING_CONFIG["loggers"], "svc": own}}


class Server(uvicorn.Server):
    """Prints its address once it listens, and lets sockets finish before it closes them."""

    def __init__(self, config: uvicorn.Config, connections: Connections, shutdown_seconds: float) -> None:
        super().__init__(config)
        self._connections = connections
        self._shutdown_seconds = shutdown_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"svc listens on http://{shown}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._connections.close(self._shutdown_seconds)
        await super().shutdown(sockets)


class _WebSocketProtocol(WebSocketsSansIOProtocol):
    """Closes sockets so that the client learns the reason, and aborts those of clients that do not read.

    A transport that is merely closed waits for ever for a client that does not read; and one that is closed while
    data still comes in is reset, which loses the reason.
    """

    def data_received(self, data: bytes) -> None:
        if self.conn.parser_exc is None:  # else the close is sent already, and further data is ignored
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


def _keep_record(record: logging.LogRecord) -> bool:
    """Drops uvicorn's lines on every socket, whose URLs may hold credentials, and on refused handshakes."""
    return not str(record.msg).startswith(("connection ", '%s - "WebSocket ', "ASGI callable returned without"))
