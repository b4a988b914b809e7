"""Clients that hang up or stop reading give their places back."""

import asyncio
from collections.abc import Callable
from random import Random

from bench.load import hang_ups

MAX_STREAMS = 4


def test_no_place_is_lost(serve: Callable[..., str]) -> None:
    address = serve(max_streams=MAX_STREAMS, stall_seconds=1)

    async def run() -> tuple[list[hang_ups.Fate], float, int]:
        fates = await hang_ups.run_clients(address, Random(1), requests=20, at_once=3, characters=600, stall_seconds=1)
        return fates, await hang_ups.settle(address), await hang_ups.count_places(address, MAX_STREAMS)

    fates, streams, places = asyncio.run(run())
    assert {fate.status for fate in fates} == {200}
    assert all(fate.whole for fate in fates if fate.behaviour == "listens")
    stalled = [fate for fate in fates if fate.behaviour == "stops reading"]
    assert stalled
    assert all(fate.cut_off for fate in stalled)
    assert streams == 0
    assert places == MAX_STREAMS
