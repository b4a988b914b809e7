"""English: how far the times that svc tells lie from when its words are heard."""

import re
import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.progress import track

from bench import options, sentences
from bench.report import Report
from bench.studio import Studio
from bench.worker import Worker
from svc.synthesis.request import SynthesisRequest

VOICES = ("af_heart", "bm_george", "am_michael", "bf_emma")
BAR = 0.060


def main(
    limit: Annotated[int, typer.Option(help="How many sentences, each by the next of four voices.")] = 20,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """The median distance between a word's time and its onset in the audio."""
    plain = [each.text for each in sentences.read("en", None) if re.fullmatch(r"[A-Za-z ',.?!—-]+", each.text)]
    measured = []
    with tempfile.TemporaryDirectory() as scratch, Worker.listening(eval_home) as listener:
        studio = Studio()
        for number, text in enumerate(track(plain[:limit], "listening")):
            path = Path(scratch) / f"{number}.wav"
            voice = studio.voices.find(VOICES[number % len(VOICES)])
            timed = [
                each for each in studio.record(SynthesisRequest(text, voice), path) if each.word.spoken[0].isalpha()
            ]
            words = [re.sub(r"[^a-z']", "", each.word.spoken.lower()) for each in timed]
            heard = listener.ask(path=str(path), senses=["onsets"], references=words)
            measured.append({"text": text, "voice": voice.key, "svc": [each.start for each in timed], **heard})
    report = Report(
        "alignment",
        f"Word onsets in {len(measured)} sentences",
        ["compared with", "words", "median distance", "90 % within", "svc is later by (median)"],
        figures={"sentences": measured},
        notes=[f"Bar: a median of at most {BAR * 1000:.0f} ms. A sentence that an ear hears otherwise is left out."],
    )
    for encoder in ("aligner", "whisper"):
        report.rows.append(_row(encoder, _differences(measured, encoder)))
    report.show()
    report.save(output)


def _differences(measured: list[dict[str, Any]], encoder: str) -> list[float]:
    return [
        ours - theirs
        for each in measured
        if each[encoder] is not None and len(each[encoder]) == len(each["svc"])
        for ours, theirs in zip(each["svc"], each[encoder], strict=True)
    ]


def _row(encoder: str, differences: list[float]) -> list[str]:
    distances = sorted(map(abs, differences))
    return [
        encoder,
        str(len(distances)),
        f"{median(distances) * 1000:.0f} ms",
        f"{distances[int(0.9 * len(distances))] * 1000:.0f} ms",
        f"{median(differences) * 1000:+.0f} ms",
    ]


if __name__ == "__main__":
    typer.run(main)
