"""Does a long text, or a key that floods, delay the sentences of others?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from statistics import median

from bench import sentences
from bench.load import processes
from bench.load.client import VOICE, Incomplete, open_response
from bench.load.listeners import Heard, listen, make_long_text
from bench.load.options import Options
from bench.report import Report

TITLE = "Fairness: the first byte of a sentence, alone and beside others"
_SENTENCES = 20
_LONG = 40_000
_FLOOD = 50
_PAUSE = 0.3  # seconds between sentences in turn
_BAR = 2.0
_GREEDY, _MODEST = "a-key-that-floods", "a-key-that-does-not"


@dataclass
class Comparison:
    what: str
    at_once: bool = False
    alone: list[Heard] = field(default_factory=list)
    beside: list[Heard] = field(default_factory=list)


def measure(options: Options) -> Report:
    rounds = 1 if options.quick else 3
    texts = [sentence.text for sentence in sentences.read("en")][:_SENTENCES]
    with processes.run(options.engine, api_keys=f"{_GREEDY},{_MODEST}") as server:
        comparisons = asyncio.run(_compare(server.address, texts, rounds))
    report = Report(
        "load-fairness", TITLE, ["", "median alone", "median beside", "ratio", "refused alone", "refused beside", "bar"]
    )
    for each in comparisons:
        alone, beside = (
            median([heard.first_byte for heard in group if heard.accepted] or [float("inf")])
            for group in (each.alone, each.beside)
        )
        refused = [sum(not heard.accepted for heard in group) for group in (each.alone, each.beside)]
        ratio = beside / alone
        report.rows.append([
            each.what, f"{1000 * alone:.0f} ms", f"{1000 * beside:.0f} ms", f"{ratio:.2f}",
            *(f"{count} of {len(each.alone)}" for count in refused),
            "met" if ratio <= _BAR and (each.at_once or not refused[1]) else "missed",
        ])  # fmt: skip
        report.figures[each.what] = {
            "alone": [heard.first_byte for heard in each.alone],
            "beside": [heard.first_byte for heard in each.beside],
            "refused": refused,
        }
    report.notes = [
        f"{_SENTENCES} sentences over POST /stream, {rounds} rounds, alone and beside in turn. Bar: the ratio is at "
        f"most "
        f"{_BAR:g}, and no sentence is refused that is asked for when the one before it is over. {_SENTENCES} at once "
        "are more than two cores hold, and a listener to a long text leaves room for fewer. The "
        f"flood: {_FLOOD} requests at once, all the time; a refused one is sent again after Retry-After."
    ]
    return report


async def _compare(address: str, texts: list[str], rounds: int) -> list[Comparison]:
    in_turn = Comparison(f"sentences in turn, beside {_LONG:,} characters")
    at_once = Comparison(f"{_SENTENCES} sentences at once, beside {_LONG:,} characters", at_once=True)
    flooded = Comparison("sentences in turn, beside a key that floods")
    await _ask_in_turn(address, texts[:3])  # warm-up
    for _ in range(rounds):
        in_turn.alone += await _ask_in_turn(address, texts)
        at_once.alone += await _ask_at_once(address, texts)
        async with _long_text(address):
            in_turn.beside += await _ask_in_turn(address, texts)
        async with _long_text(address):
            at_once.beside += await _ask_at_once(address, texts)
        flooded.alone += await _ask_in_turn(address, texts)
        async with _flood(address, texts):
            flooded.beside += await _ask_in_turn(address, texts)
        await asyncio.sleep(2)  # until the last requests of the flood are gone
    return [in_turn, at_once, flooded]


async def _ask_in_turn(address: str, texts: list[str]) -> list[Heard]:
    heard = []
    for text in texts:
        heard.append(await listen(address, "stream", text, key=_MODEST))
        await asyncio.sleep(_PAUSE)
    return heard


async def _ask_at_once(address: str, texts: list[str]) -> list[Heard]:
    heard = await asyncio.gather(*(listen(address, "stream", text, key=_MODEST) for text in texts))
    await asyncio.sleep(_PAUSE)
    return heard


@asynccontextmanager
async def _long_text(address: str) -> AsyncIterator[None]:
    """A client that reads a long text as fast as it comes, from its first audio on, again and again."""
    started = asyncio.Event()

    async def read() -> None:
        while True:
            with suppress(Incomplete, OSError):
                path = f"/v1/text-to-speech/{VOICE}/stream?output_format=mp3_44100_128"
                async with open_response(address, path, {"text": make_long_text(_LONG)}, key=_GREEDY) as response:
                    async for _ in response.chunks():
                        if response.status == 200:
                            started.set()
            await asyncio.sleep(0.5)

    reading = asyncio.create_task(read())
    try:
        await asyncio.wait_for(started.wait(), 60)
        yield
    finally:
        await _cancel([reading])


@asynccontextmanager
async def _flood(address: str, texts: list[str]) -> AsyncIterator[None]:
    async def ask(number: int) -> None:
        while True:
            heard = await listen(address, "stream", texts[number % len(texts)], key=_GREEDY)
            if not heard.accepted:
                await asyncio.sleep(1)

    asking = [asyncio.create_task(ask(number)) for number in range(_FLOOD)]
    try:
        await asyncio.sleep(3)  # until it has filled what it can fill
        yield
    finally:
        await _cancel(asking)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(1)
