"""`svc bench`: measures how fast this machine synthesizes speech."""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from svc.service import create_pipeline, create_voices
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest

_SENTENCE = "The lighthouse keeper climbed the stairs and lit the lamp."
_PARAGRAPH = (
    "When the storm came in from the west, the whole harbour went quiet, and the boats pulled at their ropes. "
    "Nobody spoke of the two who were still out at sea. Towards morning the wind turned, the clouds broke open, "
    "and somebody saw a sail."
)
_TEXTS = {"sentence": _SENTENCE, "paragraph": _PARAGRAPH, "five paragraphs": " ".join([_PARAGRAPH] * 5)}


def bench(
    runs: Annotated[int, typer.Option(help="How often each text is synthesized; the median is reported.", min=1)] = 3,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
) -> None:
    """Measure the engine: the real-time factor (seconds of work per second of speech) and the time to first audio."""
    settings = Settings()
    voice = create_voices(settings).default
    pipeline = create_pipeline(settings)
    began = time.perf_counter()
    pipeline.load()
    figures: dict[str, object] = {
        "engine": settings.engine,
        "threads": settings.threads,
        "device": settings.device,
        "load_seconds": round(time.perf_counter() - began, 2),
    }
    rows = {name: _measure(pipeline, SynthesisRequest(text, voice), runs) for name, text in _TEXTS.items()}
    figures |= {"texts": rows, "resident_megabytes": _resident_megabytes()}

    title = f"{settings.engine}, {settings.device}, {settings.threads} threads, median of {runs}"
    table = Table("text", "speech", "real-time factor", "first audio", title=title)
    for name, row in rows.items():
        table.add_row(
            name, f"{row['speech']:.1f} s", f"{row['real_time_factor']:.3f}", f"{row['first_sound'] * 1000:.0f} ms"
        )
    Console().print(table)
    if output is not None:
        output.write_text(json.dumps(figures, indent=2) + "\n")


def _measure(pipeline: Pipeline, request: SynthesisRequest, runs: int) -> dict[str, float]:
    factors, first_sounds, seconds = [], [], 0.0
    for _ in range(runs):
        began = time.perf_counter()
        chunks = pipeline.synthesize(request)
        seconds = len(next(chunks).samples) / pipeline.sample_rate
        first_sounds.append(time.perf_counter() - began)
        seconds += sum(len(chunk.samples) for chunk in chunks) / pipeline.sample_rate
        factors.append((time.perf_counter() - began) / seconds)
    median = runs // 2
    return {
        "speech": round(seconds, 2),
        "real_time_factor": round(sorted(factors)[median], 4),
        "first_sound": round(sorted(first_sounds)[median], 4),
    }


def _resident_megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3))
