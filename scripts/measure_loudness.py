"""Makes src/svc/data/loudness.json: how loud each built-in voice speaks, in LUFS (ITU-R BS.1770), without any gain.

python -m scripts.measure_loudness                  after a change of the engine's weights or of the voices
python -m scripts.measure_loudness --language fr    after a change of that language's accent

Each speaks three sentences of every language: outside of its own it articulates as others do, and is up to three
decibels louder or quieter. Some sentences are louder than others, whoever speaks them: by how much, a few voices tell
that speak many more. They tell it of the texts that a clone is measured with, too.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np
import typer
from rich.progress import track

from bench import sentences
from bench.recorder import Recorder
from svc.audio.loudness import measure_loudness
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.loudness import list_calibration_texts, measured_as

TARGET = Path(__file__).parent.parent / "src/svc/data/loudness.json"
SPEAK_MORE = ("af_heart", "am_michael", "ef_dora", "zf_xiaoxiao")


def list_few(language: Language) -> list[str]:
    """Of the benchmarks' sentences. bench.slow.loudness measures with others."""
    return [sentence.text for sentence in sentences.read(language.value)[1:4]]


def list_many(language: Language) -> list[str]:
    return [sentence.text for sentence in sentences.read(language.value)[:16]]


def main(
    languages: Annotated[list[Language] | None, typer.Option("--language", help="Only these; may be repeated.")] = None,
) -> None:
    chosen = list(dict.fromkeys(map(measured_as, languages or Language)))
    voices = [voice.key for voice in Recorder().voices if voice.custom is None]
    with ProcessPoolExecutor(os.cpu_count()) as processes:

        def measure(keys: Sequence[str], list_texts: Callable[[Language], list[str]], title: str) -> "_Found":
            found = processes.map(partial(_measure_voice, languages=chosen, list_texts=list_texts), keys)
            return dict(zip(keys, track(found, title, len(keys)), strict=True))

        many = measure(SPEAK_MORE, list_many, "many sentences")
        calibration = measure(SPEAK_MORE, list_calibration_texts, "calibration")
        few = measure(voices, list_few, "all voices")
    figures = json.loads(TARGET.read_text())
    for language in chosen:
        louder = _compare(few, many, language)
        for key in voices:
            figures["voices"].setdefault(key, {})[language] = round(few[key][language] - louder, 1)
        figures["calibration"][language] = round(_compare(calibration, many, language), 1)
    TARGET.write_text(json.dumps(figures) + "\n")


_Found = Mapping[str, Mapping[Language, float]]


def _compare(some: _Found, many: _Found, language: Language) -> float:
    """By how many dB some texts are louder than many."""
    return mean(some[key][language] - many[key][language] for key in SPEAK_MORE)


@cache
def _load_recorder() -> Recorder:
    return Recorder()


def _measure_voice(
    key: str, languages: Sequence[Language], list_texts: Callable[[Language], list[str]]
) -> dict[Language, float]:
    recorder = _load_recorder()
    voice = recorder.voices.find(key)
    nameless = replace(voice, key="")  # so that it has no gain
    found = {}
    for language in languages:
        spoken_as = voice.language if language.english and voice.language.english else language
        requests = [SynthesisRequest(text, nameless, language=spoken_as) for text in list_texts(language)]
        speech = np.concatenate([recorder.synthesize(request) for request in requests])
        found[language] = measure_loudness(speech, recorder.sample_rate)
    return found


if __name__ == "__main__":
    typer.run(main)
