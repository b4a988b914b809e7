"""Makes src/svc/data/loudness.json: how loud the voices speak, in LUFS (ITU-R BS.1770), without any gain.

python -m scripts.measure_loudness --speakers FOLDER    after every change of the engine's weights or of the voices

Every built-in voice speaks three sentences of every language. Clones of real people show by how much a clone is louder
or quieter in a language than in English; each clone is measured when it is made. FOLDER has recordings and an
index.tsv; without it, the figures of clones stay as they are.
"""

import json
import os
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer
from rich.progress import track

from bench import reference_speakers, sentences
from bench.clones import clone, without_gain
from bench.recorder import Recorder
from svc.audio.loudness import measure_loudness
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.catalogue import Voice

TARGET = Path(__file__).parent.parent / "src/svc/data/loudness.json"
SENTENCES = slice(1, 4)
"""Of the benchmarks' sentences. bench.slow.loudness measures with others."""


def main(
    speakers: Annotated[Path | None, typer.Option(envvar="SPEAKERS_HOME", help="Recordings of people.")] = None,
    every: Annotated[int, typer.Option(help="Only every Nth speaker.")] = 3,
) -> None:
    figures = json.loads(TARGET.read_text()) if TARGET.exists() else {"clones": {}, "preview_of_clones": {}}
    recorder = Recorder()

    def measure(voice: Voice, text: str, language: Language) -> float:
        samples = recorder.synthesize(SynthesisRequest(text, without_gain(voice), language=language))
        return measure_loudness(samples, recorder.sample_rate)

    figures["voices"] = {
        voice.key: {language.value: round(measure(voice, read_text(language), language), 1) for language in Language}
        for voice in track(list(recorder.voices), "built-in voices")
        if voice.custom is None
    }
    if speakers:
        encoder = OnnxSpeakerEncoder.load(threads=os.cpu_count() or 2)
        people = [*filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers))]
        speech: dict[str, list[float]] = {language.value: [] for language in Language}
        previews: dict[str, list[float]] = {language.value: [] for language in Language}
        for person in track(people[::every], "clones"):
            reference = reference_speakers.prepare(person.reference)
            voice = clone(recorder, encoder, reference, Language.ENGLISH_US)
            english = measure(voice, read_text(Language.ENGLISH_US), Language.ENGLISH_US)
            for language in Language:
                speech[language.value].append(measure(voice, read_text(language), language) - english)
                previews[language.value].append(measure(voice, PREVIEW_TEXTS[language], language) - english)
        figures["clones"] = {language: round(mean(each), 1) for language, each in speech.items()}
        figures["preview_of_clones"] = {language: round(mean(each), 1) for language, each in previews.items()}
    TARGET.write_text(json.dumps(figures, indent=1) + "\n")


def read_text(language: Language) -> str:
    name = "en-us" if language is Language.ENGLISH_US else language.value
    return " ".join(sentence.text for sentence in sentences.read(name)[SENTENCES])


if __name__ == "__main__":
    typer.run(main)
