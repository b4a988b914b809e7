"""What does it cost that espeak-ng runs in a process of its own, beside the library loaded into this one?"""

import statistics
import time
from collections.abc import Sequence
from math import inf
from typing import Annotated

import espeakng_loader
import typer

from bench import options, sentences
from bench.report import Report
from svc.text.g2p import Phonemizer, espeak_program
from svc.text.g2p.espeak_process import Espeak, keep_printable, to_words
from svc.text.language.languages import Language

BAR = 0.9  # with answers kept, as it is shipped
_LANGUAGES = ("es", "fr", "it", "pt-br", "hi", "de", "pl", "ru", "tr", "ta", "ar")


class LoadedEspeak(Espeak):
    """The library in this process. Nothing is kept."""

    def __init__(self) -> None:
        super().__init__()
        paths = espeakng_loader.get_library_path(), espeakng_loader.get_data_path()
        self._library = espeak_program.load_library(*paths)
        self._voice = ""

    def __call__(self, clauses: Sequence[str], voice: str) -> list[list[str]]:
        with self._lock:
            if voice != self._voice:
                self._library.espeak_SetVoiceByName(voice.encode())
                self._voice = voice
            return [
                to_words(espeak_program.phonemize(self._library, keep_printable(clause).encode())) for clause in clauses
            ]


def main(
    rounds: Annotated[int, typer.Option(help="How often each sentence is read.", min=1)] = 20,
    output: options.Output = None,
) -> None:
    """Sentences a second from text to phonemes, each in the best of the rounds. Ratios are to the loaded library."""
    ways = {"loaded": LoadedEspeak(), "process": Espeak(kept=0), "answers kept": Espeak()}
    phonemizers = {name: Phonemizer(espeak=espeak) for name, espeak in ways.items()}
    began = time.perf_counter()
    Espeak()(["ja"], "de")
    start = time.perf_counter() - began
    rates: dict[str, dict[str, float]] = {}
    for language in map(Language, _LANGUAGES):
        texts = [sentence.text for sentence in sentences.read(language)]
        seconds = {way: [inf] * len(texts) for way in ways}
        for turn in range(rounds + 1):
            for way, phonemizer in phonemizers.items():
                for at, text in enumerate(texts):
                    began = time.perf_counter()
                    sentences.phonemize(phonemizer, text, language)
                    if turn:  # the first one loads what the language needs
                        seconds[way][at] = min(seconds[way][at], time.perf_counter() - began)
        rates[language] = {way: len(texts) / sum(each) for way, each in seconds.items()}
    means = {way: statistics.geometric_mean(row[way] / row["loaded"] for row in rates.values()) for way in ways}
    report = Report(
        "espeak",
        "Sentences a second with espeak-ng in a process of its own",
        ["language", "library loaded", "process", "process, answers kept"],
        [[language, *_format(row)] for language, row in rates.items()],
        notes=[
            f"Geometric mean of the ratios: process {means['process']:.2f}, with answers kept "
            f"{means['answers kept']:.2f} (bar: {BAR}). The first answer, with the start of the process: "
            f"{1000 * start:.0f} ms."
        ],
        figures={"sentences_a_second": rates, "ratios": means, "start_seconds": start},
    )
    report.show()
    report.save(output)


def _format(row: dict[str, float]) -> list[str]:
    loaded, *others = row.values()
    return [f"{loaded:.0f}", *(f"{rate:.0f} ({rate / loaded:.2f})" for rate in others)]


if __name__ == "__main__":
    typer.run(main)
