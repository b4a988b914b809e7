"""`svc serve`: runs the service."""

import asyncio
import socket
from typing import Annotated

import typer
import uvicorn

from svc.app import create_app
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
            app, log_level="info", access_log=False, proxy_headers=True, forwarded_allow_ips=settings.trusted_proxies
        )
        asyncio.run(_Server(config).serve([listener]))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another with --port."
        ) from error


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            typer.echo(f"svc listens on http://{shown}:{port}")
