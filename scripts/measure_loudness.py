"""Makes src/svc/data/loudness.json: how loud each built-in voice speaks, in LUFS (ITU-R BS.1770), without any gain.

python -m scripts.measure_loudness    after every change of the engine's weights or of the voices

Each speaks three sentences of its language; in other languages it is as loud, within half a decibel. A clone is
measured when it is made.
"""

import json
from dataclasses import replace
from pathlib import Path

from rich.progress import track

from bench import sentences
from bench.recorder import Recorder
from svc.audio.loudness import measure_loudness
from svc.synthesis.request import SynthesisRequest

TARGET = Path(__file__).parent.parent / "src/svc/data/loudness.json"
SENTENCES = slice(1, 4)
"""Of the benchmarks' sentences. bench.slow.loudness measures with others."""


def main() -> None:
    recorder, figures = Recorder(), {}
    for voice in track([voice for voice in recorder.voices if voice.custom is None]):
        text = " ".join(sentence.text for sentence in sentences.read(voice.language.value)[SENTENCES])
        nameless = replace(voice, key="")  # so that it has no gain
        samples = recorder.synthesize(SynthesisRequest(text, nameless, language=voice.language))
        figures[voice.key] = round(measure_loudness(samples, recorder.sample_rate), 1)
    TARGET.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
