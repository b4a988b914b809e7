"""`svc serve`: runs the service."""

import asyncio
import logging
import socket
from contextlib import ExitStack
from typing import Annotated

import typer

from svc import logs, memory, platforms
from svc.app import create_app
from svc.server import create_server
from svc.settings import Settings

log = logging.getLogger(__name__)


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on (SVC_HOST).")] = None,
    port: Annotated[
        int | None, typer.Option(help="The port to listen on; 0 picks a free port (SVC_PORT).", min=0, max=65535)
    ] = None,
) -> None:
    """Run the service."""
    given = {"host": host, "port": port}
    settings = Settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    logs.configure(settings.log_format)
    if missing := platforms.list_missing():
        log.warning("this system lacks %s", ", ".join(missing))
    with ExitStack() as sockets:
        listening = sockets.enter_context(_open_socket(settings.host, settings.port, "--port"))
        wyoming = None
        if settings.wyoming_port is not None:
            wyoming = sockets.enter_context(_open_socket(settings.host, settings.wyoming_port, "SVC_WYOMING_PORT"))
        app = create_app(settings, after_load=memory.freeze, wyoming_socket=wyoming)
        app.openapi()  # is kept: made for the first who asks, it would hold up all others
        asyncio.run(create_server(app, settings).serve([listening]))


def _open_socket(host: str, port: int, setting: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another port with {setting}."
        ) from error
    # Connections inherit it. Without it, the second part of a response waits until the client has confirmed the first,
    # which it does 40 ms later; asyncio sets it only for sockets that name their protocol, and these do not.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
