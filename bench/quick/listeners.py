"""How many live listeners hear no gap? Each plays three sentences in real time, then asks for the next three."""

import asyncio
import time
from random import Random
from typing import Annotated

import typer

from bench import options, sentences, server
from bench.load.listeners import STARVED_OVER, Heard, listen
from bench.report import Report


def main(
    engines: Annotated[str, typer.Option(help="Comma-separated values of SVC_ENGINE.")] = "turbo",
    counts: Annotated[str, typer.Option(help="Comma-separated numbers of listeners.")] = "4,8,12,16,20,24,32,40",
    seconds: Annotated[float, typer.Option(help="For each number.", min=5)] = 40,
    output: options.Output = None,
) -> None:
    """Counts the texts in which playback ran out of audio, and those that were refused."""
    report = Report(
        "listeners",
        "Live listeners",
        ["SVC_ENGINE", "listeners", "texts", "refused", "with a gap", "longest gap", "first byte, median", "CPU"],
    )
    for engine in engines.split(","):
        with server.run_server(engine) as svc:
            asyncio.run(_listen_all(svc.address, 2, 3.0))  # warm-up
            for count in (int(each) for each in counts.split(",")):
                cpu, began = svc.cpu_seconds(), time.monotonic()
                heard = asyncio.run(_listen_all(svc.address, count, seconds))
                busy = (svc.cpu_seconds() - cpu) / (time.monotonic() - began)
                report.rows.append([engine, str(count), *_cells(heard), f"{busy:.2f}"])
    report.notes = [
        f"A gap is more than {1000 * STARVED_OVER:.0f} ms without audio. CPU: how many cores the server used. Requests "
        "are refused when the server estimates that it could not serve them in real time (SVC_MAX_LOAD)."
    ]
    report.show()
    report.save(output)


async def _listen_all(address: str, count: int, seconds: float) -> list[Heard]:
    end = time.monotonic() + seconds
    heard: list[Heard] = []
    lines = [sentence.text for sentence in sentences.read("en") if sentence.text.isascii()]

    async def play(seed: int) -> None:
        rng = Random(seed)
        await asyncio.sleep(rng.uniform(0, min(5.0, seconds / 2)))  # people do not begin together
        while time.monotonic() < end:
            each = await listen(address, "stream", " ".join(rng.sample(lines, 3)))
            heard.append(each)
            await asyncio.sleep(max(0.0, each.played_until - time.monotonic()) if each.accepted else 1.0)

    await asyncio.gather(*(play(seed) for seed in range(count)))
    return heard


def _cells(heard: list[Heard]) -> list[str]:
    accepted = [each for each in heard if each.accepted]
    gaps = [each.starved for each in accepted]
    first = sorted(each.first_byte for each in accepted)
    return [
        str(len(heard)),
        str(len(heard) - len(accepted)),
        str(sum(gap > STARVED_OVER for gap in gaps)),
        f"{max(gaps, default=0.0):.2f} s",
        f"{1000 * first[len(first) // 2]:.0f} ms" if first else "–",
    ]


if __name__ == "__main__":
    typer.run(main)
