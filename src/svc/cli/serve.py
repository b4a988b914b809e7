"""`svc serve`: runs the service."""

import asyncio
import logging
from contextlib import ExitStack
from typing import Annotated

import typer

from svc.app import create_app
from svc.observability import logs
from svc.process import memory, platforms
from svc.process.cpus import count_cpus
from svc.serving.server import create_server, open_socket
from svc.settings import Settings

log = logging.getLogger(__name__)


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on (SVC_HOST).")] = None,
    port: Annotated[
        int | None, typer.Option(help="The port to listen on; 0 picks a free port (SVC_PORT).", min=0, max=65535)
    ] = None,
    cluster: Annotated[
        bool,
        typer.Option("--cluster", help="Run on the Ray cluster of RAY_ADDRESS, or on one that is started here."),
    ] = False,
) -> None:
    """Run the service."""
    given = {"host": host, "port": port}
    settings = Settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    logs.configure(settings.log_format)
    memory.limit_arenas(count_cpus())
    if missing := platforms.list_missing():
        log.warning("this system lacks %s", ", ".join(missing))
    if cluster:
        _serve_on_cluster(settings)
    elif settings.processes > 1 or settings.engine_processes > 1:
        from svc.serving.processes import run

        run(settings)
    else:
        _serve(settings)


def _serve(settings: Settings) -> None:
    with ExitStack() as sockets:
        listening = sockets.enter_context(open_socket(settings.host, settings.port, "--port"))
        wyoming = None
        if settings.wyoming_port is not None:
            wyoming = sockets.enter_context(open_socket(settings.host, settings.wyoming_port, "SVC_WYOMING_PORT"))
        app = create_app(settings, after_load=memory.freeze, wyoming_socket=wyoming)
        app.openapi()  # is kept: made for the first who asks, it would hold up all others
        asyncio.run(create_server(app, settings).serve([listening]))


def _serve_on_cluster(settings: Settings) -> None:
    if settings.port == 0:
        raise OSError("A cluster needs a port that is the same on all machines. Choose one with --port.")
    try:
        from svc.serving.cluster.cluster import run
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("svc"):
            raise
        raise OSError("--cluster needs Ray Serve, which is not installed: pip install 'svc[cluster]'") from error
    run(settings)
