"""How fast each engine speaks, and how much memory it holds, each in a process of its own."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from sys import executable
from typing import Any

from rich.progress import Progress

from bench import speaking, speed
from bench.worker import Worker
from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language import Language

TWELVE_WORDS = "The old lighthouse keeper slowly climbed the stairs and lit the lamp."
PEERS = ("Piper", "kokoro-onnx")

Measure = dict[str, Any]


def read(phonemizer: Phonemizer, text: str, language: Language) -> list[str]:
    """The phonemes of each utterance that svc makes of a text."""
    return [phrase.phonemes for phrase in Frontend(phonemizer, language, language).read(text) if phrase.words]


def measure(rounds: int, teacher: Path, peers_home: Path) -> dict[str, Measure]:
    """By engine, in rounds in which they take turns: the ones of Kokoro's kind from phonemes, the others from text."""
    phonemizer = Phonemizer()
    texts = {"sentence": TWELVE_WORDS, "paragraph": speed.PARAGRAPH}
    with ExitStack() as processes, tempfile.TemporaryDirectory() as scratch:

        def from_phonemes(name: str) -> tuple[Worker, Callable[[str], Measure]]:
            worker = processes.enter_context(Worker(Path(executable), "bench.speaking", name, str(teacher)))
            spoken = {text: read(phonemizer, text, Language.ENGLISH_US) for text in texts.values()}
            return worker, lambda text: worker.ask(phonemes=spoken[text], voice=speed.VOICE)

        def from_text(name: str) -> tuple[Worker, Callable[[str], Measure]]:
            worker = processes.enter_context(speed.peers(peers_home, Path(scratch)))
            return worker, lambda text: worker.ask(engine=name, text=text)

        engines = {name: from_phonemes(name) for name in (speaking.TURBO, speaking.TEACHER, speaking.KOKORO)}
        engines |= {name: from_text(name) for name in PEERS}
        for _, speak in engines.values():
            speak(TWELVE_WORDS)  # the first time pays for what is done once
        taken: dict[str, dict[str, list[Measure]]] = {name: {text: [] for text in texts} for name in engines}
        with Progress() as progress:
            task = progress.add_task("speaking", total=rounds * len(engines))
            for _ in range(rounds):
                for name, (_, speak) in engines.items():
                    for text, words in texts.items():
                        taken[name][text].append(speak(words))
                    progress.advance(task)
        return {
            name: {**_summary(taken[name]), "megabytes": worker.resident_megabytes(), "rounds": taken[name]}
            for name, (worker, _) in engines.items()
        }


def _summary(taken: dict[str, list[Measure]]) -> Measure:
    """Medians: the real-time factor, the cores' time for a second of the paragraph, and the sentence's first sound."""
    return {
        "real_time_factor": median(each["last"] / sum(each["parts"]) for each in taken["paragraph"]),
        "work": median(each["work"] / sum(each["parts"]) for each in taken["paragraph"]),
        "first_sound": median(each["first"] for each in taken["sentence"]),
    }
