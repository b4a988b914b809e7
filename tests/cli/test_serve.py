"""`svc serve`: the socket that it listens on."""

import asyncio
import socket

import pytest

from svc.serving.server import open_socket


@pytest.mark.parametrize("share_port", [False, True])
def test_the_parts_of_a_response_do_not_wait_for_each_other(share_port: bool) -> None:
    """Accepted connections send small packets at once."""

    async def main() -> int:
        delayed = asyncio.get_running_loop().create_future()

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            delayed.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with open_socket("127.0.0.1", 0, "--port", share_port=share_port) as listening:
            async with await asyncio.start_server(answer, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                async with asyncio.timeout(60):
                    without_delay: int = await delayed
                writer.close()
        return without_delay

    assert asyncio.run(main()) == 1
