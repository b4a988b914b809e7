"""How loud are the voices, built-in, cloned and mixed, in every language, before and after the gain that each gets?

Integrated loudness (ITU-R BS.1770) of sentences that the gains were not measured on, and the highest sample.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np
import typer
from rich.progress import track

from bench import options, reference_speakers, sentences
from bench.clones import clone, measure_in
from bench.recorder import Recorder
from bench.report import Report
from svc.audio.loudness import measure_loudness
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice
from svc.voices.loudness import TARGET_LUFS, measured_as

_SENTENCES = slice(16, 24)
"""Of each language. scripts/measure_loudness.py takes others. The loudness of fewer depends on what they say."""
_CLONES_SPEAK = (Language.ENGLISH_US, Language.SPANISH, Language.FRENCH, Language.PORTUGUESE_BR)


@dataclass(frozen=True, slots=True)
class _Figures:
    group: str
    voice: str
    language: str
    before: float
    after: float
    peak: float
    """In dBFS, after the gain."""


def main(
    speakers: Annotated[Path, typer.Option(envvar="SPEAKERS_HOME", help="Recordings, with an index.tsv.")],
    every: Annotated[int, typer.Option(help="Only every Nth clone and mix, and Nth voice in other languages.")] = 1,
    output: options.Output = None,
) -> None:
    """Loudness of all voices, and its spread."""
    recorder = Recorder()
    rows = [_measure(recorder, *each) for each in track(list(_list_work(recorder, speakers, every)), "measuring")]
    report = _make_report(rows)
    report.show()
    report.save(output)


def _list_work(recorder: Recorder, speakers: Path, every: int) -> Iterator[tuple[str, str, Voice, Language]]:
    """The group, the name, the voice and the language that it speaks."""
    built_in = [voice for voice in recorder.voices if voice.custom is None]
    for voice in built_in:
        yield "built-in voices, own language", voice.key, voice, voice.language
    for voice in built_in[::every]:
        for language in dict.fromkeys(map(measured_as, Language)):
            if language is not measured_as(voice.language):
                yield "built-in voices, other languages", voice.key, voice, language
    for one, other in list(pairwise(built_in))[:: 3 * every]:
        mix = recorder.voices.mix([(one.key, 1.0), (other.key, 1.0)])
        yield "mixes of built-in voices", mix.key, mix, mix.language
    encoder = OnnxSpeakerEncoder.load(threads=os.cpu_count() or 2)
    people = [*filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers))][::every]
    clones = {}
    for person in track(people, "cloning"):
        reference = reference_speakers.prepare(person.reference)
        clones[person.name] = clone(recorder, encoder, reference, Language.ENGLISH_US)
    for name, voice in clones.items():
        assert voice.parameters
        for language in _CLONES_SPEAK:
            if language.english:
                yield "clones", name, voice, language
            else:
                measured = replace(voice, parameters=measure_in(recorder, voice.parameters, language))
                yield "clones, other languages", name, measured, language
    for (name, one), (other_name, other) in list(pairwise(clones.items()))[::3]:
        mix = Voice.of_mix([(one, 1.0), (other, 1.0)])
        yield "mixes of clones", f"{name}+{other_name}", mix, Language.ENGLISH_US
    for (name, one), other in list(zip(clones.items(), built_in, strict=False))[::3]:
        mix = Voice.of_mix([(one, 1.0), (other, 1.0)])
        yield "mixes of a clone and a built-in voice", f"{name}+{other.key}", mix, Language.ENGLISH_US


def _measure(recorder: Recorder, group: str, name: str, voice: Voice, language: Language) -> _Figures:
    spoken = sentences.read("en" if language.english else language.value)[_SENTENCES]
    text = " ".join(sentence.text for sentence in spoken)
    samples = recorder.synthesize(SynthesisRequest(text, voice, language=language))
    loudness = measure_loudness(samples, recorder.sample_rate)
    peak = 20 * float(np.log10(np.abs(samples).max()))
    return _Figures(group, name, language.value, loudness - voice.gain_in(language), loudness, peak)


def _make_report(rows: list[_Figures]) -> Report:
    report = Report(
        "loudness",
        f"Loudness of voices, target {TARGET_LUFS:g} LUFS",
        [
            "voices",
            "figures",
            "before: mean",
            "lowest",
            "highest",
            "after: mean",
            "lowest",
            "highest",
            "bar",
            "peak, dBFS",
        ],
        figures={"voices": [{name: getattr(row, name) for name in row.__slots__} for row in rows]},
    )
    groups = dict.fromkeys(row.group for row in rows)
    for group in [*groups, "all"]:
        mine = [row for row in rows if group in (row.group, "all")]
        before, after = [row.before for row in mine], [row.after for row in mine]
        report.rows.append(
            [
                group,
                str(len(mine)),
                *(f"{value:.1f}" for values in (before, after) for value in (mean(values), min(values), max(values))),
                "highest - lowest ≤ 2",
                f"{max(row.peak for row in mine):.1f}",
            ]
        )
    far = sorted(rows, key=lambda row: -abs(row.after - TARGET_LUFS))[:8]
    within = sum(abs(row.after - TARGET_LUFS) <= 1 for row in rows) / len(rows)
    report.notes = [
        f"{within:.1%} of the figures are within 1 dB of the target. Furthest: "
        + ", ".join(f"{row.voice} in {row.language} {row.after:.1f}" for row in far)
        + ". Each figure is the integrated loudness of eight sentences, other ones than the gains were measured on. "
        "Before: the same audio less the gain."
    ]
    return report


if __name__ == "__main__":
    typer.run(main)
