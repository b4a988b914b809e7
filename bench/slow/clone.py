"""How similar are clones to their speakers, how natural and how intelligible, beside the nearest built-in voice?

Speakers that were never trained on (training/speaker_encoder/validation.txt) are cloned from their longest recording,
as the server does it; the clone says sentences that they never said, and is compared with their other recordings.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import track

from bench import options, reference_speakers, sentences
from bench.clones import make_clone, measure_in, refine_clone
from bench.recorder import Recorder
from bench.reference_speakers import DEGRADATIONS, Degradation, Speaker
from bench.report import Report
from bench.sentences import Sentence
from bench.slow import grades
from bench.worker import Worker
from svc.audio import decode
from svc.cloning.gradients import GradientRefiner
from svc.cloning.speaker_encoder import BuiltInEmbeddings, OnnxSpeakerEncoder, SpeakerEmbedding
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice

_LANGUAGES = {
    "es": Language.SPANISH,
    "fr": Language.FRENCH,
    "pt-br": Language.PORTUGUESE_BR,
    "de": Language.GERMAN,
}
_BARS = {
    "clone": ("≥ 0.57", "≥ 0.785", "≥ 86 %", "≥ 4.45", "≤ 1 %"),
    "refined clone": ("≥ 0.64", "≥ 0.805", "≥ 92 %", "≥ 4.45", "≤ 1 %"),
    "nearest built-in voice": ("", "", "", "", ""),
}
_DROP_BARS = {"10 dB noise": "≤ 0.028", "phone band": "≤ 0.073", "MP3 32 kbit/s": "≤ 0.016"}
_TEXT_LENGTH = range(60, 110)  # characters: long enough for a speaker embedding
_NETWORKS = {"speaker": "ERes2Net", "resemblyzer": "Resemblyzer"}
_MEASURES = (*_NETWORKS, "mos", "words")

Figures = dict[str, Any]


def main(
    speakers: Annotated[Path, typer.Option(envvar="SPEAKERS_HOME", help="Recordings, with an index.tsv.")],
    texts: Annotated[int, typer.Option(help="Sentences per clone.")] = 2,
    foreign_texts: Annotated[int, typer.Option(help="Sentences per clone in other languages.")] = 12,
    limit: Annotated[int | None, typer.Option(help="Only the first N speakers.")] = None,
    every: Annotated[int, typer.Option(help="Other languages: only every Nth speaker.")] = 4,
    step: Annotated[int, typer.Option(help="Only every Nth speaker.")] = 1,
    degraded: Annotated[bool, typer.Option(help="Also clone from degraded recordings.")] = True,
    refined: Annotated[bool, typer.Option(help="Also refine the clones.")] = True,
    eval_home: options.EvalHome = options.EVAL_HOME,
    page: Annotated[
        str | None, typer.Option(help="Name of the page with the table; default: clone, or refined-clone.")
    ] = None,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Similarity, naturalness and word error rate of clones, with spread and worst speaker."""
    everybody = list(filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers)))
    people = everybody[::step][:limit]
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        threads = os.cpu_count() or 2
        networks = OnnxSpeakerEncoder.load(threads), GradientRefiner.load(threads)
        session = _Session(Recorder(), *networks, evaluator, folder)
        english = [s for s in sentences.read("en") if len(s.text) in _TEXT_LENGTH][:texts]
        foreign = {name: sentences.read(name)[1 : 1 + foreign_texts] for name in _LANGUAGES}
        session.embed_speakers(everybody)  # whom clones might be mistaken for
        for name, language in _LANGUAGES.items():
            session.measure_built_in(name, language, foreign[name])
        for number, person in enumerate(track(people, "cloning")):
            voice = session.clone(person)
            session.measure("clone", person, voice, english)
            abroad = list(_LANGUAGES.items()) if number % every == 0 else []
            for name, language in abroad:
                session.measure(name, person, session.clone(person, language=language), foreign[name])
            if refined:
                better = session.refine(person, voice)
                session.measure("refined clone", person, better, english)
                for name, language in abroad:
                    session.measure(f"refined {name}", person, session.speak_abroad(better, language), foreign[name])
            session.measure("nearest built-in voice", person, session.nearest(person), english[:1])
            for name, degradation in DEGRADATIONS.items() if degraded else ():
                session.measure_degraded(name, person, degradation, english)
    report = _make_report(session, len(people))
    report.name = page or report.name
    report.show()
    report.save(output)


@dataclass
class _Session:
    recorder: Recorder
    encoder: OnnxSpeakerEncoder
    refiner: GradientRefiner
    evaluator: Worker
    folder: Path
    rows: dict[str, list[Figures]] = field(default_factory=dict)
    """By condition, one of each speaker."""
    people: dict[str, dict[str, npt.NDArray[np.float64]]] = field(default_factory=dict)
    """Each network's embeddings of their other recordings. [recordings, dimensions]"""
    built_in: BuiltInEmbeddings = field(default_factory=BuiltInEmbeddings.load)
    clone_seconds: list[float] = field(default_factory=list)
    refinement_seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Degraded recordings that the server rejects."""

    def embed_speakers(self, people: list[Speaker]) -> None:
        for person in track(people, "embedding speakers"):
            results = [self.evaluator.ask(path=str(path), measures=list(_NETWORKS)) for path in person.others]
            self.people[person.name] = {name: np.array([each[name] for each in results]) for name in _NETWORKS}

    def clone(
        self, person: Speaker, degradation: Degradation | None = None, language: Language = Language.ENGLISH_US
    ) -> Voice:
        began = time.perf_counter()
        encoded = self._encode(person, degradation)
        parameters = make_clone(self.recorder, self.encoder, encoded, language)
        if degradation is None and language is Language.ENGLISH_US:
            self.clone_seconds.append(time.perf_counter() - began)
        return self.recorder.voices.build(parameters, language)

    def refine(self, person: Speaker, voice: Voice) -> Voice:
        """What refinement makes of the clone, alone on the machine."""
        began = time.perf_counter()
        assert voice.parameters
        reference = reference_speakers.prepare(person.reference)
        refined = refine_clone(
            self.recorder, self.encoder, self.refiner, reference, voice.parameters, Language.ENGLISH_US
        )
        self.refinement_seconds.append(time.perf_counter() - began)
        return self.recorder.voices.build(refined, Language.ENGLISH_US)

    def speak_abroad(self, voice: Voice, language: Language) -> Voice:
        """The same voice in another language, as loud as in English."""
        assert voice.parameters
        return self.recorder.voices.build(measure_in(self.recorder, voice.parameters, language), language)

    def _encode(self, person: Speaker, degradation: Degradation | None = None) -> SpeakerEmbedding:
        return self.encoder.encode(reference_speakers.prepare(person.reference, degradation), decode.RATE)

    def nearest(self, person: Speaker) -> Voice:
        """The built-in voice that the server names, by the same encoder."""
        return self.recorder.voices.find(self.built_in.find_nearest(self.encoder, self._encode(person).embedding)[0])

    def measure_built_in(self, condition: str, language: Language, lines: list[Sentence]) -> None:
        """Word errors of the built-in voices of a language; of those that it is graded by, if it has none."""
        own = [each for each in self.recorder.voices if each.custom is None and each.language is language]
        for voice in own or [self.recorder.voices.find(key) for key in grades.VOICES]:
            figures = _summarize(voice.key, self._evaluate(condition, voice.key, voice, lines, language=language))
            self.rows.setdefault(f"built-in {condition}", []).append(figures)

    def measure(self, condition: str, person: Speaker, voice: Voice, lines: list[Sentence]) -> None:
        results = self._evaluate(condition, person.name, voice, lines)
        figures = _summarize(person.name, results)
        for network in _NETWORKS:
            similarity = self._similarity(network, [each[network] for each in results])
            figures[network] = similarity[person.name]
            figures[f"{network}_identified"] = float(max(similarity, key=similarity.__getitem__) == person.name)
        self.rows.setdefault(condition, []).append(figures)

    def measure_degraded(
        self, condition: str, person: Speaker, degradation: Degradation, lines: list[Sentence]
    ) -> None:
        """Similarity of a clone from a degraded recording."""
        if not reference_speakers.is_clonable(person, degradation):
            self.refused.append(f"{person.name} ({condition})")
            return
        results = self._evaluate(condition, person.name, self.clone(person, degradation), lines, measures=("speaker",))
        similarity = self._similarity("speaker", [each["speaker"] for each in results])
        self.rows.setdefault(condition, []).append({"name": person.name, "speaker": similarity[person.name]})

    def _evaluate(
        self,
        condition: str,
        name: str,
        voice: Voice,
        lines: list[Sentence],
        measures: Iterable[str] = _MEASURES,
        language: Language | None = None,
    ) -> list[Figures]:
        """In the voice's own language, if no other is given."""
        language = language or voice.language
        results = []
        for number, sentence in enumerate(lines):
            path = self.folder / f"{name}-{condition.replace(' ', '-').replace('/', '')}-{number}.wav"
            self.recorder.record(SynthesisRequest(sentence.text, voice, language=language), path)
            results.append(
                self.evaluator.ask(
                    path=str(path),
                    measures=list(measures),
                    language=language.split("-")[0],
                    references=sentence.references,
                )
            )
        return results

    def _similarity(self, network: str, embeddings: list[list[float]]) -> dict[str, float]:
        """Of the speech to all speakers' recordings, by name."""
        return {name: float((np.array(embeddings) @ known[network].T).mean()) for name, known in self.people.items()}


def _summarize(name: str, results: list[Figures]) -> Figures:
    return {
        "name": name,
        "mos": mean(each["mos"] for each in results),
        "wrong": sum(each["wrong"] for each in results),
        "length": sum(each["length"] for each in results),
    }


def _make_report(session: _Session, count: int) -> Report:
    name, what = ("refined-clone", "Cloning and refinement") if session.refinement_seconds else ("clone", "Cloning")
    report = Report(
        name,
        f"{what}, {count} people whom training never heard",
        ["measure", "who speaks", "people", "mean", "spread", "worst", "bar"],
        figures={
            "people": session.rows,
            "clone_seconds": session.clone_seconds,
            "refinement_seconds": session.refinement_seconds,
            "refused": session.refused,
        },
    )
    clones, peers = session.rows["clone"], session.rows["nearest built-in voice"]
    for who, bars in _BARS.items():
        if not (rows := session.rows.get(who)):
            continue
        report.rows += [
            _make_row("ERes2Net*", who, rows, "speaker", bars[0]),
            _make_row("Resemblyzer", who, rows, "resemblyzer", bars[1]),
            _make_share_row("identified (Resemblyzer)", who, rows, "resemblyzer_identified", bars[2]),
            _make_row("DistillMOS*", who, rows, "mos", bars[3]),
            _make_error_row(who, rows, bars[4]),
        ]
    for condition in DEGRADATIONS:
        rows = session.rows.get(condition, [])
        if not rows:
            continue
        clean = {row["name"]: row["speaker"] for row in clones}
        drops = [{"name": row["name"], "drop": clean[row["name"]] - row["speaker"]} for row in rows]
        bar = _DROP_BARS[condition]
        report.rows.append(_make_row("ERes2Net*, drop", f"clone from {condition}", drops, "drop", bar, worst=max))
    for condition in _LANGUAGES:
        for who, key, bar in (("clone", condition, "≥ 0.45"), ("refined clone", f"refined {condition}", "≥ 0.50")):
            if rows := session.rows.get(key):
                report.rows.append(_make_row("ERes2Net*", f"{who} speaks {condition}", rows, "speaker", bar))
                report.rows.append(_make_error_row(f"{who} speaks {condition}", rows, "≤ built-in + 5"))
        report.rows.append(
            _make_error_row(f"built-in voices speak {condition}", session.rows[f"built-in {condition}"], "")
        )
    seconds = [{"name": row["name"], "s": s} for row, s in zip(clones, session.clone_seconds, strict=True)]
    report.rows.append(_make_row("seconds to clone", "", seconds, "s", "≤ 2", worst=max))
    if session.refinement_seconds:
        seconds = [{"name": row["name"], "s": s} for row, s in zip(clones, session.refinement_seconds, strict=True)]
        report.rows.append(_make_row("seconds to refine", "", seconds, "s", "≤ 45", worst=max))
    better = sum(one["speaker"] > other["speaker"] for one, other in zip(clones, peers, strict=True))
    report.notes = [
        f"{better} of {count} clones are more like their speaker than the nearest built-in voice (ERes2Net), which the "
        "encoder chooses. The spread is the standard deviation over people. Seconds to clone: decoding, choosing the "
        "speech, the encoder, a spoken text that is heard and corrected, and equalizing by two more; the server "
        "encodes one of them once more, to measure the similarity.",
        "* The encoder was trained with this measure as a loss, on other people; refinement optimises a copy of "
        "ERes2Net. Resemblyzer was never in a loss.",
    ]
    if session.refused:
        report.notes.append(
            f"With less than 1.5 seconds of speech the server rejects these: {', '.join(session.refused)}."
        )
    return report


def _make_row(
    measure: str, who: str, rows: list[Figures], key: str, bar: str, worst: Callable[..., Figures] = min
) -> list[str]:
    values = [row[key] for row in rows]
    last = worst(rows, key=lambda row: row[key])
    spread = stdev(values) if len(values) > 1 else 0.0
    return [
        measure,
        who,
        str(len(rows)),
        f"{mean(values):.3f}",
        f"{spread:.3f}",
        f"{last[key]:.3f} {last['name']}",
        bar,
    ]


def _make_share_row(measure: str, who: str, rows: list[Figures], key: str, bar: str) -> list[str]:
    return [measure, who, str(len(rows)), f"{mean(row[key] for row in rows):.0%}", "", "", bar]


def _make_error_row(who: str, rows: list[Figures], bar: str) -> list[str]:
    rate = sum(row["wrong"] for row in rows) / sum(row["length"] for row in rows)
    last = max(rows, key=lambda row: row["wrong"] / row["length"])
    worst = f"{last['wrong'] / last['length']:.0%} {last['name']}"
    return ["word error rate", who, str(len(rows)), f"{rate:.1%}", "", worst, bar]


if __name__ == "__main__":
    typer.run(main)
