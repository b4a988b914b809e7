"""The web server: uvicorn, with this service's protocols, start message and shutdown."""

import asyncio
import logging
import os
import signal
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from svc.api.realtime.connections import Connections
from svc.api.realtime.messages import MAX_FIRST_MESSAGE_CHARACTERS, MAX_MESSAGE_CHARACTERS
from svc.process.lifecycle import Lifecycle
from svc.serving.protocols import HttpProtocol, ServerConfig, WebSocketProtocol
from svc.settings import Settings

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 1.0  # for the last bytes and the closes of connections, after the time of the shutdown is over
_CANCEL_SECONDS = 5.0
# A thread that computes gives the interpreter to another one after so many seconds. The event loop asks for it after
# every system call; with Python's own 5 ms, a few busy threads would keep every request waiting.
_SWITCH_SECONDS = 0.0005
_WAITING_CONNECTIONS = 2048
# In one turn of the event loop. asyncio would accept all that wait, and while it begins with hundreds of new requests,
# those who listen already would have a gap.
_ACCEPTED_AT_ONCE = 1


def open_socket(host: str, port: int, setting: str, *, share_port: bool = False) -> socket.socket:
    """Listens; `setting` is what chooses another port. With `share_port`, other processes may use the same port, and
    the kernel deals out the connections among those that listen: it is left to the server to begin with that."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if share_port:
            opened = socket.socket(family)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            opened.bind((host, port))
        else:
            opened = socket.create_server((host, port), family=family, backlog=_WAITING_CONNECTIONS)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another port with {setting}."
        ) from error
    # Connections inherit it. Without it, the second part of a response waits until the client has confirmed the first,
    # which it does 40 ms later; asyncio sets it only for sockets that name their protocol, and these do not.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def create_server(app: FastAPI, settings: Settings, *, share_port: bool = False, silent: bool = False) -> "Server":
    """With `share_port`, other servers listen on the same port. A `silent` one does not print its address."""
    config = ServerConfig(
        app,
        settings,
        app.state.input_budget,
        2 * MAX_FIRST_MESSAGE_CHARACTERS,
        log_config=None,
        log_level="info",
        access_log=False,
        backlog=_ACCEPTED_AT_ONCE,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        http=HttpProtocol,
        ws=WebSocketProtocol,
        ws_max_size=2 * MAX_MESSAGE_CHARACTERS,
        ws_per_message_deflate=False,  # compressing Base64 audio costs time and saves little
    )
    logging.getLogger("uvicorn.error").addFilter(_keep_record)
    return Server(
        config,
        app.state.lifecycle,
        app.state.connections,
        settings.shutdown_seconds,
        share_port,
        silent,
        describe_access(settings),
    )


def describe_access(settings: Settings) -> str:
    """What is printed after the address of a server."""
    return " and is OPEN: it needs no key; set SVC_API_KEY" if settings.is_exposed else ""


class Server(uvicorn.Server):
    """Prints its address once it listens, cuts off clients that waste a connection, and drains before it ends."""

    def __init__(
        self,
        config: ServerConfig,
        lifecycle: Lifecycle,
        connections: Connections,
        shutdown_seconds: float,
        share_port: bool,
        silent: bool,
        notice: str = "",
    ) -> None:
        super().__init__(config)
        self._notice = notice
        self._lifecycle = lifecycle
        self._connections = connections
        self._shutdown_seconds = shutdown_seconds
        self._share_port = share_port
        self._silent = silent

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        sys.setswitchinterval(_SWITCH_SECONDS)
        await super().startup(sockets)
        for listening in [each for server in self.servers for each in server.sockets]:
            with socket.socket(fileno=os.dup(listening.fileno())) as same:
                same.listen(_WAITING_CONNECTIONS)
        for each in [] if self._silent else sockets or []:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"svc listens on http://{shown}:{port}{self._notice}", flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal drains the server, which then exits with 0; a second one ends it at once."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True
        self._lifecycle.drain()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._abort_wasted_connections()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finishes the requests and sockets that there are, for a bounded time; then cuts off what is left.

        It listens meanwhile, so that clients and load balancers are told 503 instead of nothing; unless others listen
        on the same port, who can serve them.
        """
        log.info("shutting down: requests in flight have %g seconds", self._shutdown_seconds)
        if self._share_port:
            self._leave_port(sockets or [])
            await asyncio.sleep(0)  # what has arrived by now begins before anything is refused
        self._lifecycle.drain()
        self._connections.drain()
        state = self.server_state
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._shutdown_seconds
        while (state.tasks or len(self._connections)) and loop.time() < deadline:
            await asyncio.sleep(0.05)
            self._abort_wasted_connections()
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in tuple(state.connections):
            connection.shutdown()  # closes what is idle, and tells sockets 1012
        deadline = max(deadline, loop.time() + _CLOSE_SECONDS)
        # A transport tells nobody that its buffer is empty.
        while loop.time() < deadline and any(each.transport.get_write_buffer_size() for each in state.connections):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for connection in tuple(state.connections):
            connection.transport.abort()
        await self._cancel_tasks()
        await self.lifespan.shutdown()

    def _leave_port(self, sockets: list[socket.socket]) -> None:
        """Clients that come or come back from now on reach another server. Requests in flight are finished."""
        for server in self.servers:
            server.close()
        for each in sockets:
            each.close()
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, HttpProtocol):
                connection.shutdown()  # at once if it is idle, otherwise after the response

    async def _cancel_tasks(self) -> None:
        tasks = set(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)

    def _abort_wasted_connections(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in tuple(self.server_state.connections):
            assert isinstance(connection, HttpProtocol | WebSocketProtocol)
            if connection.is_wasted(now):
                connection.transport.abort()


def _keep_record(record: logging.LogRecord) -> bool:
    """Drops uvicorn's lines on every socket, whose URLs may hold credentials, on refused handshakes, and on requests
    that a shutdown cancelled."""
    if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
        return False
    return not str(record.msg).startswith(("connection ", '%s - "WebSocket ', "ASGI callable returned without"))
