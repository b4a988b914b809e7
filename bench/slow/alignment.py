"""How far are svc's word timings from the words' onsets in the audio?"""

import re
import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.progress import track

from bench import options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.worker import Worker
from svc.synthesis.request import SynthesisRequest

VOICES = ("af_heart", "bm_george", "am_michael", "bf_emma")
BAR = 0.060


def main(
    limit: Annotated[int, typer.Option(help="Number of sentences; four voices take turns.")] = 20,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """The median distance between a word's time and its onset in the audio."""
    plain = [each.text for each in sentences.read("en", None) if re.fullmatch(r"[A-Za-z ',.?!—-]+", each.text)]
    measured = []
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder = Recorder()
        for number, text in enumerate(track(plain[:limit], "evaluating")):
            path = Path(scratch) / f"{number}.wav"
            voice = recorder.voices.find(VOICES[number % len(VOICES)])
            timed = [
                each for each in recorder.record(SynthesisRequest(text, voice), path) if each.word.spoken[0].isalpha()
            ]
            words = [re.sub(r"[^a-z']", "", each.word.spoken.lower()) for each in timed]
            onsets = evaluator.ask(path=str(path), measures=["onsets"], references=words)
            measured.append({"text": text, "voice": voice.key, "svc": [each.start for each in timed], **onsets})
    report = Report(
        "alignment",
        f"Word onsets in {len(measured)} sentences",
        ["compared with", "words", "median distance", "90 % within", "svc is later by (median)"],
        figures={"sentences": measured},
        notes=[f"Bar: a median of at most {BAR * 1000:.0f} ms. Sentences with another transcript are left out."],
    )
    for source in ("aligner", "whisper"):
        report.rows.append(_make_row(source, _differences(measured, source)))
    report.show()
    report.save(output)


def _differences(measured: list[dict[str, Any]], source: str) -> list[float]:
    return [
        ours - theirs
        for each in measured
        if each[source] is not None and len(each[source]) == len(each["svc"])
        for ours, theirs in zip(each["svc"], each[source], strict=True)
    ]


def _make_row(source: str, differences: list[float]) -> list[str]:
    distances = sorted(map(abs, differences))
    return [
        source,
        str(len(distances)),
        f"{median(distances) * 1000:.0f} ms",
        f"{distances[int(0.9 * len(distances))] * 1000:.0f} ms",
        f"{median(differences) * 1000:+.0f} ms",
    ]


if __name__ == "__main__":
    typer.run(main)
