"""How do two engines compare over HTTP: first byte, real-time factor, CPU time, memory, and the time to load?"""

import time
from contextlib import ExitStack
from statistics import median
from typing import Annotated

import typer
from rich.progress import track

from bench import options, sentences, server
from bench.report import Report
from bench.slow.speed import Measure, stream_text

SEVEN_WORDS = "The train leaves from platform nine today."
LONG_SENTENCE = (
    "When the storm finally passed, the children ran down to the beach to see what the waves had left behind for them."
)
_TEXTS = {"seven words": SEVEN_WORDS, "22 words": LONG_SENTENCE, "paragraph": sentences.PARAGRAPH}


def main(
    engines: Annotated[str, typer.Option(help="Comma-separated: turbo, fake, kokoro.")] = "turbo,kokoro",
    rounds: Annotated[int, typer.Option(min=1)] = 15,
    output: options.Output = None,
) -> None:
    """Medians over rounds in which the engines take turns, so that other load affects all of them alike."""
    with ExitStack() as stack:
        servers, loading = {}, {}
        for name in engines.split(","):
            began = time.monotonic()
            servers[name] = stack.enter_context(server.run_server(name))
            loading[name] = time.monotonic() - began
            stream_text(servers[name], sentences.PARAGRAPH)  # warm-up
        results: dict[str, dict[str, list[Measure]]] = {text: {name: [] for name in servers} for text in _TEXTS}
        for _ in track(range(rounds), "synthesising"):
            for text, by_engine in results.items():
                for name, svc in servers.items():
                    cpu = svc.cpu_seconds()
                    measure = stream_text(svc, _TEXTS[text])
                    by_engine[name].append({**measure, "cpu": svc.cpu_seconds() - cpu})
        memory = {name: svc.resident_megabytes() for name, svc in servers.items()}

    def summarize(name: str, text: str, value: str) -> float:
        return median(_read(measure, value) for measure in results[text][name])

    names = list(servers)
    rows = [
        *(
            [f"first byte, {text}", *(f"{1000 * summarize(name, text, 'first'):.0f} ms" for name in names)]
            for text in ("seven words", "22 words")
        ),
        ["real-time factor, paragraph", *(f"{summarize(name, 'paragraph', 'factor'):.3f}" for name in names)],
        ["CPU seconds for a second of it", *(f"{summarize(name, 'paragraph', 'share'):.3f}" for name in names)],
        ["resident memory, after the requests", *(f"{memory[name]:.0f} MB" for name in names)],
        ["from the start to ready", *(f"{loading[name]:.1f} s" for name in names)],
    ]
    report = Report(
        "speed-over-http",
        f"Engines over HTTP: median of {rounds} rounds",
        ["", *(f"SVC_ENGINE={name}" for name in names)],
        rows,
        figures={"runs": results, "memory_megabytes": memory, "loading_seconds": loading},
    )
    report.show()
    report.save(output)


def _read(measure: Measure, value: str) -> float:
    seconds = sum(measure["parts"])
    return float(
        {"first": measure["first"], "factor": measure["last"] / seconds, "share": measure["cpu"] / seconds}[value]
    )


if __name__ == "__main__":
    typer.run(main)
