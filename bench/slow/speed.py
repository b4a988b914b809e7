"""How fast is `/stream` (real-time factor, first byte), beside kokoro-onnx and Piper in the same run?"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import Progress

from bench import options, sentences, server
from bench.kokoro_engine import read_weights
from bench.report import Report
from bench.worker import Worker
from svc.voices.built_in import load_built_in_voices

FIRST_SENTENCE = sentences.PARAGRAPH.split(". ")[0] + "."
_BYTES_A_SECOND = 2 * 24_000  # of pcm_24000

Measure = dict[str, Any]


def main(
    rounds: Annotated[int, typer.Option(help="Rounds of the short texts.", min=1)] = 7,
    long_rounds: Annotated[int, typer.Option(help="Rounds of the five-minute text; 0 leaves it out.", min=0)] = 1,
    peers_home: options.PeersHome = options.PEERS_HOME,
    output: options.Output = None,
) -> None:
    """Medians over rounds in which the engines take turns, so that other load affects all of them alike."""
    story = " ".join(sentence.text for sentence in sentences.read("story"))
    texts = {
        "sentence": (sentences.SHORT, rounds),
        "paragraph": (sentences.PARAGRAPH, rounds),
        "five minutes": (story, long_rounds),
    }
    with (
        tempfile.TemporaryDirectory() as scratch,
        server.run_server("turbo") as turbo,
        server.run_server("kokoro") as kokoro,
        create_peer_worker(peers_home, Path(scratch)) as peers,
    ):
        engines: dict[str, Callable[[str], Measure]] = {
            "svc": lambda text: stream_text(turbo, text),
            "Kokoro int8 in svc": lambda text: stream_text(kokoro, text),
            "kokoro-onnx": lambda text: peers.ask(engine="kokoro-onnx", text=text),
            "Piper": lambda text: peers.ask(engine="Piper", text=text),
        }
        results: dict[str, dict[str, list[Measure]]] = {}
        for synthesize in engines.values():
            synthesize(sentences.SHORT)  # warm-up
        first_sentence = stream_text(turbo, FIRST_SENTENCE)
        with Progress() as progress:
            task = progress.add_task("synthesising", total=sum(times for _, times in texts.values()) * len(engines))
            for name, (text, times) in texts.items():
                results[name] = {engine: [] for engine in engines}
                for _ in range(times):
                    for engine, synthesize in engines.items():
                        results[name][engine].append(synthesize(text))
                        progress.advance(task)
    report = Report(
        "speed",
        f"Speed: median of {rounds} rounds ({long_rounds} of the five-minute text)",
        ["text", "engine", "speech", "time", "real-time factor", "× svc", "first byte", "× svc", "first part"],
        figures={"runs": results, "first_sentence": first_sentence},
    )
    for name, by_engine in results.items():
        ours = _summary(by_engine["svc"]) if by_engine["svc"] else None
        for engine, measures in by_engine.items():
            if ours:
                report.rows.append([name, engine, *_cells(_summary(measures), ours)])
    report.notes = [
        "svc is timed over HTTP (`/stream`, pcm_24000, one client), the others inside their own process, all from "
        "plain text. kokoro-onnx speaks with the very weights (int8) and voice of that engine. The first part "
        "is the speech that the first byte comes with.",
        f"The paragraph's first part is {_first_part(results['paragraph']['svc'][0]):.1f} s of speech; its first "
        f"sentence is {sum(first_sentence['parts']):.1f} s long.",
    ]
    report.show()
    report.save(output)


def create_peer_worker(home: Path, scratch: Path) -> Worker:
    """Gives kokoro-onnx the same weights and voice as svc."""
    model, voices = scratch / "kokoro.onnx", scratch / "voices.npz"
    model.write_bytes(read_weights())
    style = next(voice.style for voice in load_built_in_voices() if voice.key == sentences.VOICE)
    np.savez(voices, allow_pickle=False, **{sentences.VOICE: style[:, None, :]})
    return Worker(home / "venv/bin/python", "bench.peer_process", str(model), str(voices), sentences.VOICE)


def stream_text(svc: server.Server, text: str) -> Measure:
    began = time.perf_counter()
    first, parts = 0.0, []
    for part in svc.stream(sentences.VOICE, "pcm_24000", {"text": text}):
        first = first or time.perf_counter() - began
        parts.append(len(part) / _BYTES_A_SECOND)
    return {"first": first, "last": time.perf_counter() - began, "parts": parts}


def _first_part(measure: Measure) -> float:
    first: float = measure["parts"][0]
    return first


def _summary(measures: list[Measure]) -> dict[str, float]:
    return {
        "seconds": median(sum(measure["parts"]) for measure in measures),
        "last": median(measure["last"] for measure in measures),
        "factor": median(measure["last"] / sum(measure["parts"]) for measure in measures),
        "first": median(measure["first"] for measure in measures),
        "first_part": median(_first_part(measure) for measure in measures),
    }


def _cells(one: dict[str, float], ours: dict[str, float]) -> list[str]:
    return [
        f"{one['seconds']:.1f} s",
        f"{one['last']:.2f} s",
        f"{one['factor']:.3f}",
        f"{one['factor'] / ours['factor']:.2f}",
        f"{one['first'] * 1000:.0f} ms",
        f"{one['first'] / ours['first']:.2f}",
        f"{one['first_part']:.1f} s",
    ]


if __name__ == "__main__":
    typer.run(main)
