"""The port on which Wyoming is spoken."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from svc.api.realtime.session import SessionDependencies
from svc.api.wyoming.events import MAX_LINE_BYTES
from svc.api.wyoming.session import WyomingLimits, WyomingSession
from svc.errors import SvcError
from svc.process.lifecycle import Lifecycle
from svc.voices.catalogue import VoiceCatalogue


class WyomingServer:
    """Its connections are counted and drained with the sockets of the service."""

    def __init__(
        self,
        listening: socket.socket,
        dependencies: SessionDependencies,
        voices: VoiceCatalogue,
        lifecycle: Lifecycle,
        limits: WyomingLimits,
    ) -> None:
        self._listening = listening
        self._dependencies = dependencies
        self._voices = voices
        self._connections = dependencies.connections
        self._lifecycle = lifecycle
        self._limits = limits
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Takes connections until the block is left; those that there are go on."""
        server = await asyncio.start_server(self._serve, sock=self._listening, limit=MAX_LINE_BYTES)
        host, port = self._listening.getsockname()[:2]
        print(f"svc speaks Wyoming on tcp://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
        try:
            yield
        finally:
            server.close()

    async def close(self) -> None:
        """Cuts off the connections that are left."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        session = WyomingSession(reader, writer, self._dependencies, self._voices, self._limits)
        try:
            self._lifecycle.require_running()
            with self._connections.register(session):
                await session.run()
        except SvcError as error:
            await session.refuse(error)
            writer.close()
