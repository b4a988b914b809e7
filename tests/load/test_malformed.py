"""Malformed requests and messages are answered or refused, never with a 500 or a traceback.

`python -m bench.load --only malformed` sends thousands.
"""

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from bench.load import malformed
from bench.load.malformed import Exchange, exchange_frames, exchange_http, make_http, make_socket
from tests.load.conftest import Tracebacks

AT_ONCE = 8


@pytest.mark.parametrize(
    ("count", "make", "exchange"),
    [(300, make_http, exchange_http), (40, make_socket, exchange_frames)],
    ids=["requests", "sockets"],
)
def test_every_one_is_answered(
    serve: Callable[..., str], tracebacks: Tracebacks, count: int, make: Callable[[Random], bytes], exchange: Exchange
) -> None:
    address = serve(**malformed.SETTINGS)

    async def send_all() -> list[str]:
        limit = asyncio.Semaphore(AT_ONCE)

        async def send(number: int) -> str:
            content = make(Random(f"1-{number}"))
            async with limit:
                offence = (await exchange(address, content)).offence
            return f"{offence}, number {number}: {content[:500]!r}" if offence else ""

        return list(filter(None, await asyncio.gather(*map(send, range(count)))))

    assert asyncio.run(send_all()) == []
    assert tracebacks.found == []
    malformed.check_speech(address)
