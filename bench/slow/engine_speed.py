"""Part of bench.slow.turbo: speed and memory of each engine, each in a process of its own."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from sys import executable
from typing import Any

from rich.progress import Progress

from bench import engine_process, sentences
from bench.slow import speed
from bench.worker import Worker
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language

PEERS = ("Piper", "kokoro-onnx")

Measure = dict[str, Any]


def measure(rounds: int, teacher: Path, peers_home: Path) -> dict[str, Measure]:
    """By engine, in rounds in which they take turns: Kokoro and svc from phonemes, the others from text."""
    phonemizer = Phonemizer()
    texts = {"sentence": sentences.TWELVE_WORDS, "paragraph": sentences.PARAGRAPH}
    with ExitStack() as processes, tempfile.TemporaryDirectory() as scratch:

        def start_from_phonemes(name: str) -> tuple[Worker, Callable[[str], Measure]]:
            worker = processes.enter_context(Worker(Path(executable), "bench.engine_process", name, str(teacher)))
            phonemes = {text: sentences.phonemize(phonemizer, text, Language.ENGLISH_US) for text in texts.values()}
            return worker, lambda text: worker.ask(phonemes=phonemes[text], voice=sentences.VOICE)

        def start_from_text(name: str) -> tuple[Worker, Callable[[str], Measure]]:
            worker = processes.enter_context(speed.create_peer_worker(peers_home, Path(scratch)))
            return worker, lambda text: worker.ask(engine=name, text=text)

        engines = {
            name: start_from_phonemes(name)
            for name in (engine_process.TURBO, engine_process.TEACHER, engine_process.KOKORO)
        }
        engines |= {name: start_from_text(name) for name in PEERS}
        for _, synthesize in engines.values():
            synthesize(sentences.TWELVE_WORDS)  # warm-up
        results: dict[str, dict[str, list[Measure]]] = {name: {text: [] for text in texts} for name in engines}
        with Progress() as progress:
            task = progress.add_task("synthesising", total=rounds * len(engines))
            for _ in range(rounds):
                for name, (_, synthesize) in engines.items():
                    for text, words in texts.items():
                        results[name][text].append(synthesize(words))
                    progress.advance(task)
        return {
            name: {**_summary(results[name]), "megabytes": worker.resident_megabytes(), "rounds": results[name]}
            for name, (worker, _) in engines.items()
        }


def _summary(results: dict[str, list[Measure]]) -> Measure:
    """Medians: real-time factor and CPU seconds per second of the paragraph, and the sentence's first audio."""
    return {
        "real_time_factor": median(each["last"] / sum(each["parts"]) for each in results["paragraph"]),
        "work": median(each["work"] / sum(each["parts"]) for each in results["paragraph"]),
        "first_sound": median(each["first"] for each in results["sentence"]),
    }
