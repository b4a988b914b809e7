"""Makes src/svc/data/loudness.json: how loud each built-in voice speaks, in LUFS (ITU-R BS.1770), without any gain.

python -m scripts.measure_loudness    after every change of the engine's weights, of the voices or the accents

Each speaks three sentences of every language: outside of its own it articulates as others do, and is up to three
decibels louder or quieter. Some sentences are louder than others, whoever speaks them: by how much, a few voices tell
that speak many more. A clone is measured when it is made.
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import mean

from rich.progress import track

from bench import sentences
from bench.recorder import Recorder
from svc.audio.loudness import measure_loudness
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.loudness import measured_as

TARGET = Path(__file__).parent.parent / "src/svc/data/loudness.json"
SENTENCES = slice(1, 4)
"""Of the benchmarks' sentences. bench.slow.loudness measures with others."""
MORE_SENTENCES = slice(0, 16)
SPEAK_MORE = ("af_heart", "am_michael", "ef_dora", "zf_xiaoxiao")
LANGUAGES = tuple(dict.fromkeys(map(measured_as, Language)))


def main() -> None:
    keys = [voice.key for voice in Recorder().voices if voice.custom is None]
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        speak_more = partial(_measure_voice, chosen=MORE_SENTENCES)
        many = list(track(processes.map(speak_more, SPEAK_MORE), "many sentences", len(SPEAK_MORE)))
        few = dict(zip(keys, track(processes.map(_measure_voice, keys), "all voices", len(keys)), strict=True))
    louder = [
        mean(few[key][number] - more[number] for key, more in zip(SPEAK_MORE, many, strict=True))
        for number in range(len(LANGUAGES))
    ]
    figures = {
        key: {each.value: round(found - by, 1) for each, found, by in zip(LANGUAGES, few[key], louder, strict=True)}
        for key in keys
    }
    TARGET.write_text(json.dumps(figures) + "\n")


@cache
def _load_recorder() -> Recorder:
    return Recorder()


def _measure_voice(key: str, chosen: slice = SENTENCES) -> Sequence[float]:
    """In each language."""
    recorder = _load_recorder()
    voice = recorder.voices.find(key)
    nameless = replace(voice, key="")  # so that it has no gain
    found = []
    for language in LANGUAGES:
        text = " ".join(sentence.text for sentence in sentences.read(language.value)[chosen])
        spoken = voice.language if language.english and voice.language.english else language
        samples = recorder.synthesize(SynthesisRequest(text, nameless, language=spoken))
        found.append(measure_loudness(samples, recorder.sample_rate))
    return found


if __name__ == "__main__":
    main()
