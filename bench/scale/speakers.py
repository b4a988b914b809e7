"""What a server can do: seconds of speech a second, listeners at once, and the first byte while it is idle."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from random import Random
from statistics import median
from typing import Any

from bench.load.client import read_figures
from bench.load.listeners import STARVED_OVER, Heard, listen, make_texts

# The limit is what is measured, so admission must not refuse anything.
UNLIMITED: dict[str, object] = {"max_load": 1, "max_streams": 10_000, "max_waiting": 10_000, "queue_seconds": 10}

EXPLANATION = (
    "Speech a second: clients that ask again as soon as they have their audio; the most that two and four for each "
    "core get. Live listeners: each plays one text after the other from the first byte on, without a pause; the most "
    f"without more than {1000 * STARVED_OVER:.0f} ms of silence within a text. Texts of one to three "
    "sentences over POST /stream, pcm_24000."
)
_CLIENTS_A_CORE = 2, 4  # where texts go to other processes and back, two leave the cores idle now and then
_TEXTS = 24
_FIRST_BYTES = 10
_SHORT = "The train to the coast leaves in ten minutes."


@dataclass(frozen=True, slots=True)
class Measured:
    speech_a_second: float
    listeners: int
    first_byte: float
    """The median, in seconds."""
    server_seconds: float = 0.0
    """CPU time of the process that answers the requests for a second of speech; with the engine, if it has that."""
    tried: dict[int, int] = field(default_factory=dict)
    """How many had a gap, or were refused, for each number of listeners."""

    def join(self, other: "Measured") -> "Measured":
        """The better of two measurements, number by number."""
        faster = max(self, other, key=lambda each: each.speech_a_second)
        return replace(
            faster,
            listeners=max(self.listeners, other.listeners),
            first_byte=min(self.first_byte, other.first_byte),
            tried=self.tried | other.tried,
        )

    def describe(self) -> dict[str, Any]:
        return asdict(self)


def measure(address: str, cores: int, seconds: float) -> Measured:
    """Every number takes about so many seconds, of which several are tried for the listeners."""
    return asyncio.run(_measure(address, cores, seconds))


async def _measure(address: str, cores: int, seconds: float) -> Measured:
    await measure_speech(address, 2 * cores, min(seconds, 10))  # warms it
    first_byte = await measure_first_byte(address, _FIRST_BYTES)
    speech_a_second, server_seconds = max(
        [await _measure_speech_and_server(address, each * cores, seconds) for each in _CLIENTS_A_CORE]
    )
    tried: dict[int, int] = {}

    async def holds(listeners: int) -> bool:
        tried[listeners] = await count_failures(address, listeners, seconds)
        return not tried[listeners]

    # There cannot be more listeners than seconds of speech a second.
    listeners = await find_most(holds, max(1, int(speech_a_second)))
    return Measured(speech_a_second, listeners, first_byte, server_seconds, tried)


async def _measure_speech_and_server(address: str, clients: int, seconds: float) -> tuple[float, float]:
    """Seconds of speech a second, and what the server's process takes of a core for each."""
    used, began = await _read_cpu_seconds(address), time.monotonic()
    speech_a_second = await measure_speech(address, clients, seconds)
    spoken = speech_a_second * (time.monotonic() - began)
    return speech_a_second, (await _read_cpu_seconds(address) - used) / spoken


async def _read_cpu_seconds(address: str) -> float:
    return (await read_figures(address)).get("process_cpu_seconds_total") or 0.0


async def measure_first_byte(address: str, requests: int) -> float:
    """The median of one request after the other, in seconds."""
    heard = [await listen(address, "stream", f"{_SHORT} {number}") for number in range(requests)]
    return median(each.first_byte for each in heard)


async def measure_speech(address: str, clients: int, seconds: float) -> float:
    """Seconds of speech a second, of clients that ask again as soon as they have their audio."""
    texts = make_texts(Random(1), _TEXTS)
    made, began = 0.0, time.monotonic()

    async def ask(client: int) -> None:
        nonlocal made
        number = client
        while time.monotonic() < began + seconds:
            heard = await listen(address, "stream", texts[number % _TEXTS])
            if heard.status == 429:  # a machine that is slow for other reasons
                await asyncio.sleep(0.2)
                continue
            if not heard.whole:
                raise RuntimeError(f"{heard.status} {heard.reason}")
            made += heard.seconds
            number += clients

    await asyncio.gather(*map(ask, range(clients)))
    return made / (time.monotonic() - began)


async def count_failures(address: str, listeners: int, seconds: float) -> int:
    """How many listeners had a gap, or were refused; they leave."""
    texts, until = make_texts(Random(1), _TEXTS), time.monotonic() + seconds
    failed: list[Heard] = []

    async def play(rng: Random) -> None:
        await asyncio.sleep(rng.uniform(0, min(5, seconds / 3)))  # not all at the same moment
        while time.monotonic() < until:
            heard = await listen(address, "stream", rng.choice(texts))
            if not heard.whole or heard.starved > STARVED_OVER:
                failed.append(heard)
                return
            await asyncio.sleep(min(heard.played_until, until) - time.monotonic())

    await asyncio.gather(*(play(Random(number)) for number in range(listeners)))
    return len(failed)


async def find_most(holds: Callable[[int], Awaitable[bool]], limit: int) -> int:
    """The largest number that holds, of those up to `limit`; 0 if not even one does."""
    if await holds(limit):
        return limit
    low, high = 0, limit
    while high - low > max(1, low // 20):  # to within 5 %
        middle = (low + high) // 2
        low, high = (middle, high) if await holds(middle) else (low, middle)
    return low
