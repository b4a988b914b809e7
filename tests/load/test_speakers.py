"""What `bench.scale` asks of a server."""

import asyncio
from collections.abc import Callable

from bench.scale import speakers


def test_listeners_who_get_their_audio_are_no_failures(serve: Callable[..., str]) -> None:
    address = serve(**speakers.UNLIMITED)
    assert asyncio.run(speakers.count_failures(address, 2, 1)) == 0
    assert asyncio.run(speakers.measure_speech(address, 2, 1)) > 1
    assert asyncio.run(speakers.measure_first_byte(address, 2)) > 0


def test_listeners_who_are_refused_are_failures(serve: Callable[..., str]) -> None:
    assert asyncio.run(speakers.count_failures(serve(max_characters=5), 3, 1)) == 3
