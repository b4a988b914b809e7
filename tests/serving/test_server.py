"""The web server: how it takes connections."""

import asyncio
import socket
import struct
from pathlib import Path
from unittest.mock import patch

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.serving.server import create_server, open_socket
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

_MAX_WAITING = slice(28, 32)
"""Of `tcp_info`: for a socket that listens, how many connections may wait."""


def test_many_connections_wait_and_one_is_accepted_at_a_time(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    server = create_server(create_app(settings, Pipeline(FakeEngine(), phonemizer)), settings)
    turns: list[int] = []

    async def serve_some(listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        accept = loop._accept_connection  # type: ignore[attr-defined]

        def count(*args: object) -> None:
            before = len(asyncio.all_tasks())
            accept(*args)
            turns.append(len(asyncio.all_tasks()) - before)

        with patch.object(loop, "_accept_connection", count):
            serving = asyncio.create_task(server.serve([listening]))
            while not server.started:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            # The loop does not run meanwhile: all of them wait in the kernel.
            clients = [socket.create_connection(listening.getsockname(), timeout=60) for _ in range(50)]
            while sum(turns) < len(clients):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            for each in clients:
                each.close()
            server.should_exit = True
            await serving

    with open_socket("127.0.0.1", 0, "--port") as listening:
        asyncio.run(asyncio.wait_for(serve_some(listening), 120))
    assert max(turns) == 1


def test_the_queue_of_connections_is_long(phonemizer: Phonemizer, tmp_path: Path) -> None:
    """With a socket of uvicorn's own, too."""
    settings = Settings(data_dir=tmp_path)
    server = create_server(create_app(settings, Pipeline(FakeEngine(), phonemizer)), settings)
    server.config.port = 0

    async def read_queue() -> int:
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        state = server.servers[0].sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        server.should_exit = True
        await serving
        return int(struct.unpack("=I", state[_MAX_WAITING])[0])

    most = int(Path("/proc/sys/net/core/somaxconn").read_text())
    assert asyncio.run(asyncio.wait_for(read_queue(), 120)) == min(2048, most)
