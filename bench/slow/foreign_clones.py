"""Does a cloned voice stay itself in another language? Compares what it says there with itself in English."""

import os
import tempfile
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import track

from bench import clones, options, reference_speakers, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.worker import Worker
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.catalogue import Voice

_TEXTS = 2  # of English, twice
_FOREIGN_TEXTS = 4
_TEXT_LENGTH = range(60, 110)  # characters: long enough for a speaker embedding
_FOREIGN_LENGTH = range(40, 110)


def main(
    speakers: Annotated[Path, typer.Option(envvar="SPEAKERS_HOME", help="Recordings, with an index.tsv.")],
    languages: Annotated[list[Language] | None, typer.Option("--language", help="May be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N speakers.")] = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """Similarity (ERes2Net) of clones in other languages to themselves in English, beside other English sentences."""
    languages = languages or [Language.GERMAN]
    people = list(filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers)))[:limit]
    english = [each.text for each in sentences.read("en") if len(each.text) in _TEXT_LENGTH][: 2 * _TEXTS]
    foreign = {
        language: [each.text for each in sentences.read(language) if len(each.text) in _FOREIGN_LENGTH][:_FOREIGN_TEXTS]
        for language in languages
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder, encoder = Recorder(), OnnxSpeakerEncoder.load(threads=os.cpu_count() or 2)

        def embed(voice: Voice, texts: list[str], language: Language) -> npt.NDArray[np.float64]:
            path = Path(scratch) / "clip.wav"
            embeddings = []
            for text in texts:
                recorder.record(SynthesisRequest(text, voice, language=language), path)
                embeddings.append(evaluator.ask(path=str(path), measures=["speaker"])["speaker"])
            return np.array(embeddings)

        for person in track(people, "cloning"):
            reference = reference_speakers.prepare(person.reference)
            voice = clones.clone(recorder, encoder, reference, Language.ENGLISH_US)
            itself = embed(voice, english[:_TEXTS], Language.ENGLISH_US)
            others = {"English": embed(voice, english[_TEXTS:], Language.ENGLISH_US)}
            others |= {language: embed(voice, texts, language) for language, texts in foreign.items()}
            found[person.name] = {name: float((each @ itself.T).mean()) for name, each in others.items()}
    report = Report(
        "foreign-clones", "Cloned voices in other languages", ["language", "similar to itself", "lowest", "speakers"]
    )
    for name in ("English", *languages):
        values = [each[name] for each in found.values()]
        report.rows.append([name, f"{mean(values):.2f}", f"{min(values):.2f}", str(len(values))])
    report.notes.append(
        f"ERes2Net's cosine between each of {_FOREIGN_TEXTS} sentences ({_TEXTS} other ones of English) and each of "
        f"{_TEXTS} English ones by the same clone, for speakers that nothing was trained on."
    )
    report.figures = {"speakers": found}
    report.show()
    report.save(output)


if __name__ == "__main__":
    typer.run(main)
