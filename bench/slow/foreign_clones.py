"""Is a cloned voice the person's in another language too, and does one understand it?

What it says there is compared with itself in English and with the person's recordings, and transcribed.
"""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import track

from bench import clones, heard, options, reference_speakers, sentences
from bench.recorder import Recorder
from bench.reference_speakers import Speaker
from bench.report import Report
from bench.worker import Worker
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.text.language.languages import Language

_TEXTS = 2  # of English, twice
_FOREIGN_TEXTS = 4
_TEXT_LENGTH = range(60, 110)  # characters: long enough for a speaker embedding
_FOREIGN_LENGTH = range(40, 110)
_SHORTER_LENGTH = range(20, 40)  # of scripts that need fewer characters

Embeddings = npt.NDArray[np.float64]
"""[clips, dimensions]"""


@dataclass
class _Figures:
    """Of one clone in one language."""

    itself: float
    """Similarity to what the same clone says in English."""
    person: float
    """Similarity to the person's other recordings."""
    characters: int
    wrong: int


@dataclass
class _Session:
    recorder: Recorder
    encoder: OnnxSpeakerEncoder
    evaluator: Worker
    folder: Path
    found: dict[str, dict[str, _Figures]] = field(default_factory=dict)
    """By speaker and language."""

    def measure(self, person: Speaker, languages: list[Language]) -> None:
        others = self._embed(person.others)
        voice = clones.clone(
            self.recorder, self.encoder, reference_speakers.prepare(person.reference), Language.ENGLISH_US
        )
        english = [each.text for each in sentences.read("en") if len(each.text) in _TEXT_LENGTH][: 2 * _TEXTS]
        itself = self._embed(self._save(heard.speak(self.recorder, Language.ENGLISH_US, voice, english[:_TEXTS])))
        texts = {Language.ENGLISH_US: english[_TEXTS:]} | {each: _read_texts(each) for each in languages}
        self.found[person.name] = {}
        for language, spoken in texts.items():
            recordings = heard.speak(self.recorder, language, voice, spoken)
            clips = self._embed(self._save(recordings))
            listened = heard.transcribe(
                self.evaluator, language, voice, recordings, self.recorder.sample_rate, self.folder, ["base"]
            )
            self.found[person.name][language] = _Figures(
                float((clips @ itself.T).mean()),
                float((clips @ others.T).mean()),
                listened.characters,
                listened.wrong["base"],
            )

    def _save(self, recordings: list[heard.Recording]) -> list[Path]:
        return [
            heard.write(self.folder / f"{number}.wav", samples, self.recorder.sample_rate)
            for number, (_, samples) in enumerate(recordings)
        ]

    def _embed(self, paths: list[Path]) -> Embeddings:
        return np.array([self.evaluator.ask(path=str(path), measures=["speaker"])["speaker"] for path in paths])


def main(
    speakers: Annotated[Path, typer.Option(envvar="SPEAKERS_HOME", help="Recordings, with an index.tsv.")],
    languages: Annotated[list[Language] | None, typer.Option("--language", help="May be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N speakers.")] = None,
    step: Annotated[int, typer.Option(help="Only every Nth speaker.")] = 1,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """Clones in other languages: similarity (ERes2Net) to themselves in English and to the people, characters wrong."""
    languages = languages or [Language.GERMAN]
    everybody = filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers))
    people = list(everybody)[::step][:limit]
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        encoder = OnnxSpeakerEncoder.load(threads=os.cpu_count() or 2)
        session = _Session(Recorder(), encoder, evaluator, Path(scratch))
        for person in track(people, "cloning"):
            session.measure(person, languages)
    report = Report(
        "foreign-clones",
        "Cloned voices in other languages",
        ["language", "similar to itself", "lowest", "similar to the person", "lowest", "characters wrong", "speakers"],
    )
    for language in (Language.ENGLISH_US, *languages):
        rows = [each[language] for each in session.found.values()]
        to_itself, to_person = [each.itself for each in rows], [each.person for each in rows]
        wrong = sum(each.wrong for each in rows) / sum(each.characters for each in rows)
        report.rows.append(
            [
                language,
                *(f"{value:.2f}" for value in (mean(to_itself), min(to_itself), mean(to_person), min(to_person))),
                f"{wrong:.1%}",
                str(len(rows)),
            ]
        )
    report.notes.append(
        f"ERes2Net's cosine between each of {_FOREIGN_TEXTS} sentences ({_TEXTS} other ones of English) and each of "
        f"{_TEXTS} English ones by the same clone, and the person's other recordings, for speakers that nothing was "
        "trained on. Characters wrong by Whisper base, which hears the sentences of a clone together."
    )
    report.figures = {
        "speakers": {name: {key: vars(each) for key, each in row.items()} for name, row in session.found.items()}
    }
    report.show()
    report.save(output)


def _read_texts(language: Language) -> list[str]:
    texts = [each.text for each in sentences.read(language)]
    long = [text for text in texts if len(text) in _FOREIGN_LENGTH]
    return (long + [text for text in texts if len(text) in _SHORTER_LENGTH])[:_FOREIGN_TEXTS]


if __name__ == "__main__":
    typer.run(main)
