"""Cloning: how like its speaker a clone is, beside the built-in voice that is nearest to that speaker.

People whom training never heard (training/cloning/validation.txt) are cloned from their longest recording, as the
server does it; the clone says sentences that they never said, and is compared with their other recordings.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import track

from bench import options, references, sentences
from bench.references import DAMAGES, Damage, Speaker
from bench.report import Report
from bench.sentences import Sentence
from bench.studio import Studio
from bench.worker import Worker
from svc.audio import decode, equalizer
from svc.cloning import refinement as refinement_worker
from svc.cloning.built_in_embeddings import BuiltInEmbeddings
from svc.cloning.directions import Directions
from svc.cloning.search import Search
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder, SpeakerEmbedding
from svc.engine.protocol import Samples
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.catalogue import Voice, built_in
from svc.voices.parameters import VoiceParameters
from svc.voices.preview_texts import INTRODUCTIONS

_LANGUAGES = {"es": Language.SPANISH, "fr": Language.FRENCH, "pt-br": Language.PORTUGUESE_BR}
_BARS = ("≥ 0.50", "≥ 0.77", "≥ 70 %", "≥ 4.4", "≤ 2 %")
_REFINED_BARS = ("≥ 0.65", "≥ 0.82", "≥ 90 %", "≥ 4.5", "≤ 1 %")
_TEXT_LENGTH = range(60, 110)  # letters: long enough to tell a voice by
_REFINED = "refined clone"
_NETWORKS = {"speaker": "ERes2Net", "resemblyzer": "Resemblyzer"}
_SENSES = (*_NETWORKS, "mos", "words")

Figures = dict[str, Any]


def main(
    speakers: Annotated[Path, typer.Option(envvar="SPEAKERS_HOME", help="Recordings, with an index.tsv.")],
    texts: Annotated[int, typer.Option(help="Sentences that every clone says.")] = 2,
    limit: Annotated[int | None, typer.Option(help="Only the first so many speakers.")] = None,
    every: Annotated[int, typer.Option(help="Refinement and languages: only every so many speakers.")] = 4,
    refine: Annotated[bool, typer.Option(help="Measure refined clones too: a minute more for each.")] = False,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Likeness, naturalness and word error rate of clones, with spread and worst speaker."""
    people = list(filter(references.clonable, references.validation(speakers)))[:limit]
    with tempfile.TemporaryDirectory() as scratch, Worker.listening(eval_home) as listener:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        session = _Session(Studio(), OnnxSpeakerEncoder.load(threads=os.cpu_count() or 2), listener, folder)
        said = [s for s in sentences.read("en") if len(s.text) in _TEXT_LENGTH][:texts]
        abroad = {name: sentences.read(name)[1:5] for name in _LANGUAGES}
        session.remember(people)
        for name, language in _LANGUAGES.items():
            session.natives(name, language, abroad[name])
        for number, person in enumerate(track(people, "cloning")):
            voice = session.clone(person)
            session.say("clone", person, voice, said)
            session.say("nearest built-in voice", person, session.nearest(person), said[:1])
            for name, damage in DAMAGES.items():
                session.spoil(name, person, damage, said)
            if number % every == 0:
                if refine:
                    session.say(_REFINED, person, session.refined(person, voice), said)
                for name, language in _LANGUAGES.items():
                    session.say(name, person, session.clone(person, language=language), abroad[name])
    report = _report(session, len(people))
    report.show()
    report.save(output)


@dataclass
class _Session:
    studio: Studio
    encoder: OnnxSpeakerEncoder
    listener: Worker
    folder: Path
    rows: dict[str, list[Figures]] = field(default_factory=dict)
    """One of each condition and speaker."""
    people: dict[str, dict[str, npt.NDArray[np.float64]]] = field(default_factory=dict)
    """Their other recordings, as each network hears them; [recordings, dimensions]"""
    likeness: BuiltInEmbeddings = field(default_factory=BuiltInEmbeddings.load)
    clone_seconds: list[float] = field(default_factory=list)
    improved: list[str] = field(default_factory=list)
    """Whose refined clones took the place of the first ones."""
    refused: list[str] = field(default_factory=list)
    """Damaged recordings that the server would not take."""

    def remember(self, people: list[Speaker]) -> None:
        for person in track(people, "listening to people"):
            heard = [self.listener.ask(path=str(path), senses=list(_NETWORKS)) for path in person.others]
            self.people[person.name] = {name: np.array([each[name] for each in heard]) for name in _NETWORKS}

    def clone(self, person: Speaker, damage: Damage | None = None, language: Language = Language.ENGLISH_US) -> Voice:
        began = time.perf_counter()
        heard = self._person(person, damage)
        parameters = self._tuned(heard.parameters, heard, language)
        if damage is None and language is Language.ENGLISH_US:
            self.clone_seconds.append(time.perf_counter() - began)
        return self.studio.voices.sketch(parameters, language)

    def refined(self, person: Speaker, clone: Voice) -> Voice:
        """The clone as the server refines it, or as it was if that is no better."""
        assert clone.parameters
        heard, language = self._person(person), clone.language
        old, directions, search = clone.parameters, Directions(), Search.start()

        def likeness(parameters: VoiceParameters, text: str) -> float:
            spoken = self.encoder.encode(self._spoken(parameters, text, language), self.studio.sample_rate)
            return self.encoder.similarity(spoken.embedding, heard.embedding)

        while not search.done:
            text = refinement_worker.tried(search.generation)
            search = search.after([likeness(directions.moved(old, trial), text) for trial in search.trials()])
        new = self._tuned(directions.moved(old, search.centre), heard, language)
        judged_by = (INTRODUCTIONS[language], refinement_worker.JUDGED_BY)
        before, after = ([likeness(each, text) for text in judged_by] for each in (old, new))
        if not refinement_worker.better(after, before):
            return clone
        self.improved.append(person.name)
        return self.studio.voices.sketch(new, language)

    def _person(self, person: Speaker, damage: Damage | None = None) -> SpeakerEmbedding:
        return self.encoder.encode(references.prepared(person.reference, damage), decode.RATE)

    def _tuned(self, parameters: VoiceParameters, person: SpeakerEmbedding, language: Language) -> VoiceParameters:
        """In the colour of the person."""
        plain = replace(parameters, equalizer_gains=equalizer.FLAT)
        spoken = self.encoder.spectral_envelope(
            self._spoken(plain, INTRODUCTIONS[language], language), self.studio.sample_rate
        )
        return replace(plain, equalizer_gains=equalizer.matching_gains(person.spectral_envelope, spoken))

    def _spoken(self, parameters: VoiceParameters, text: str, language: Language) -> Samples:
        sketch = self.studio.voices.sketch(parameters, language)
        return self.studio.speak(SynthesisRequest(text, sketch, language=language))

    def nearest(self, person: Speaker) -> Voice:
        """The built-in voice that the server would name, by the same ear."""
        return self.studio.voices.find(self.likeness.nearest(self.encoder, self._person(person).embedding)[0])

    def natives(self, condition: str, language: Language, said: list[Sentence]) -> None:
        """What is understood of the built-in voices of a language, whose pronunciation clones take over."""
        for voice in built_in():
            if voice.language is language:
                figures = _counted(voice.key, self._heard(condition, voice.key, voice, said))
                self.rows.setdefault(f"built-in {condition}", []).append(figures)

    def say(self, condition: str, person: Speaker, voice: Voice, said: list[Sentence]) -> None:
        heard = self._heard(condition, person.name, voice, said)
        figures = _counted(person.name, heard)
        for network in _NETWORKS:
            likeness = self._likeness(network, [each[network] for each in heard])
            figures[network] = likeness[person.name]
            figures[f"{network}_identified"] = float(max(likeness, key=likeness.__getitem__) == person.name)
        self.rows.setdefault(condition, []).append(figures)

    def spoil(self, condition: str, person: Speaker, damage: Damage, said: list[Sentence]) -> None:
        """How like the person a clone from a damaged recording still is."""
        if not references.clonable(person, damage):
            self.refused.append(f"{person.name} ({condition})")
            return
        heard = self._heard(condition, person.name, self.clone(person, damage), said, senses=("speaker",))
        likeness = self._likeness("speaker", [each["speaker"] for each in heard])
        self.rows.setdefault(condition, []).append({"name": person.name, "speaker": likeness[person.name]})

    def _heard(
        self, condition: str, name: str, voice: Voice, said: list[Sentence], senses: Iterable[str] = _SENSES
    ) -> list[Figures]:
        heard = []
        for number, sentence in enumerate(said):
            path = self.folder / f"{name}-{condition.replace(' ', '-').replace('/', '')}-{number}.wav"
            self.studio.record(SynthesisRequest(sentence.text, voice), path)
            heard.append(
                self.listener.ask(
                    path=str(path),
                    senses=list(senses),
                    language=voice.language.split("-")[0],
                    references=sentence.references,
                )
            )
        return heard

    def _likeness(self, network: str, spoken: list[list[float]]) -> dict[str, float]:
        """Of what was said to everybody's recordings."""
        return {name: float((np.array(spoken) @ known[network].T).mean()) for name, known in self.people.items()}


def _counted(name: str, heard: list[Figures]) -> Figures:
    return {
        "name": name,
        "mos": mean(each["mos"] for each in heard),
        "wrong": sum(each["wrong"] for each in heard),
        "length": sum(each["length"] for each in heard),
    }


def _report(session: _Session, count: int) -> Report:
    report = Report(
        "clone",
        f"Cloning, {count} people whom training never heard",
        ["measure", "who speaks", "people", "mean", "spread", "worst", "bar"],
        figures={
            "people": session.rows,
            "clone_seconds": session.clone_seconds,
            "improved": session.improved,
            "refused": session.refused,
        },
    )
    clones, peers, refined = session.rows["clone"], session.rows["nearest built-in voice"], session.rows.get(_REFINED)
    voices = [("clone", clones, _BARS), ("nearest built-in voice", peers, _BARS)]
    if refined:
        people = {row["name"] for row in refined}
        first = [row for row in clones if row["name"] in people]
        voices += [(_REFINED, refined, _REFINED_BARS), ("the same before", first, _BARS)]
    for who, rows, bars in voices:
        report.rows += [
            _row("ERes2Net", who, rows, "speaker", bars[0]),
            _row("Resemblyzer", who, rows, "resemblyzer", bars[1]),
            _share("identified (Resemblyzer)", who, rows, "resemblyzer_identified", bars[2]),
            _row("DistillMOS", who, rows, "mos", bars[3]),
            _errors(who, rows, bars[4]),
        ]
    for condition in DAMAGES:
        rows = session.rows[condition]
        undamaged = {row["name"]: row["speaker"] for row in clones}
        drops = [{"name": row["name"], "drop": undamaged[row["name"]] - row["speaker"]} for row in rows]
        report.rows.append(_row("ERes2Net, drop", f"clone from {condition}", drops, "drop", "≤ 0.08", worst=max))
    for condition in _LANGUAGES:
        rows = session.rows[condition]
        report.rows.append(_row("ERes2Net", f"clone speaks {condition}", rows, "speaker", "≥ 0.40"))
        report.rows.append(_errors(f"clone speaks {condition}", rows, "intelligible"))
        report.rows.append(_errors(f"built-in voices speak {condition}", session.rows[f"built-in {condition}"], ""))
    seconds = [{"name": row["name"], "s": s} for row, s in zip(clones, session.clone_seconds, strict=True)]
    report.rows.append(_row("seconds to clone", "", seconds, "s", "≤ 3", worst=max))
    better = sum(one["speaker"] > other["speaker"] for one, other in zip(clones, peers, strict=True))
    report.notes = [
        f"{better} of {count} clones are more like their speaker than the nearest built-in voice (ERes2Net), which the "
        "encoder chooses. The spread is the standard deviation over people. Seconds to clone: decoding, choosing the "
        "speech, the encoder, and tuning the colour by a spoken sentence; the server hears that once more, to measure "
        "the likeness."
    ]
    if session.refused:
        report.notes.append(
            f"With less than three seconds of speech in them the server refuses these: {', '.join(session.refused)}."
        )
    if refined:
        report.notes.append(
            f"{len(session.improved)} of {len(refined)} refined clones were found better, by the encoder; the others "
            "are the first ones."
        )
    return report


def _row(
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


def _share(measure: str, who: str, rows: list[Figures], key: str, bar: str) -> list[str]:
    return [measure, who, str(len(rows)), f"{mean(row[key] for row in rows):.0%}", "", "", bar]


def _errors(who: str, rows: list[Figures], bar: str) -> list[str]:
    rate = sum(row["wrong"] for row in rows) / sum(row["length"] for row in rows)
    last = max(rows, key=lambda row: row["wrong"] / row["length"])
    worst = f"{last['wrong'] / last['length']:.0%} {last['name']}"
    return ["word error rate", who, str(len(rows)), f"{rate:.1%}", "", worst, bar]


if __name__ == "__main__":
    typer.run(main)
