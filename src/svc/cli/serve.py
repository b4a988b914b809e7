"""`svc serve`: runs the service."""

import asyncio
import logging
import socket
from typing import Annotated

import typer
import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from svc.app import create_app
from svc.realtime.messages import LONGEST_MESSAGE
from svc.realtime.sockets import Sockets
from svc.settings import Settings


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on (SVC_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one (SVC_PORT).")] = None,
) -> None:
    """Run the service."""
    given = {"host": host, "port": port}
    settings = Settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    app = create_app(settings)
    with _listening(settings.host, settings.port) as listener:
        config = uvicorn.Config(
            app,
            log_level="info",
            access_log=False,
            proxy_headers=True,
            forwarded_allow_ips=settings.trusted_proxies,
            ws=_Socket,
            ws_max_size=2 * LONGEST_MESSAGE,
            ws_per_message_deflate=False,  # sound in Base64 hardly gets smaller, only later
        )
        # It would write the whole address of each socket to the log, and with it the credentials in there.
        logging.getLogger("uvicorn.error").addFilter(lambda record: '"WebSocket ' not in str(record.msg))
        asyncio.run(_Server(config, app.state.sockets, settings.shutdown_seconds).serve([listener]))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another with --port."
        ) from error


class _Server(uvicorn.Server):
    """Says where it listens, once it does; and lets sockets finish before it cuts them off."""

    def __init__(self, config: uvicorn.Config, realtime: Sockets, patience: float) -> None:
        super().__init__(config)
        self._realtime = realtime
        self._patience = patience

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            typer.echo(f"svc listens on http://{shown}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._realtime.close(self._patience)
        await super().shutdown(sockets)


class _Socket(WebSocketsSansIOProtocol):
    """Lets go of a client that takes nothing: a transport that is merely closed waits for it forever."""

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(self.close_timeout, self.transport.abort)
