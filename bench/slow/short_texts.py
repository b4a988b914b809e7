"""How well are texts of one to three words spoken and understood? Engines are compared in one run."""

import tempfile
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer
from rich.progress import track

from bench import options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.worker import Worker

VOICES = (
    "af_heart", "af_bella", "af_nicole", "af_sarah", "am_michael", "am_adam", "am_puck", "bf_emma", "bm_george",
    "bm_lewis",
)  # fmt: skip


def main(
    engines: Annotated[str, typer.Option(help="Comma-separated: turbo, kokoro.")] = "turbo,kokoro",
    voices: Annotated[int, typer.Option(help="Voices for each text; all ten take turns.", min=1, max=10)] = 3,
    limit: Annotated[int | None, typer.Option(help="Only the first N texts.")] = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Mean DistillMOS, and the words that Whisper base mishears."""
    texts = sentences.read("short", limit)
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorders, folder = {name: Recorder(name) for name in engines.split(",")}, keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        utterances = [
            (number, sentence, VOICES[(number + 3 * turn) % len(VOICES)])
            for number, sentence in enumerate(texts)
            for turn in range(voices)
        ]
        clips = [
            _measure(recorder, name, evaluator, voice, sentence, folder / f"{number:02}-{voice}-{name}.wav")
            for number, sentence, voice in track(utterances, "evaluating")
            for name, recorder in recorders.items()
        ]
    report = _make_report(clips)
    report.show()
    report.save(output)


def _measure(
    recorder: Recorder, engine: str, evaluator: Worker, voice: str, sentence: sentences.Sentence, path: Path
) -> dict[str, Any]:
    seconds = recorder.record_text(sentence.text, voice, path)
    answer = evaluator.ask(path=str(path), measures=["mos", "words"], language="en", references=sentence.references)
    return {"engine": engine, "voice": voice, "text": sentence.text, "seconds": round(seconds, 2), **answer}


def _make_report(clips: list[dict[str, Any]]) -> Report:
    engines = list(dict.fromkeys(clip["engine"] for clip in clips))
    report = Report(
        "short-texts",
        f"Texts of one to three words, {len(clips) // len(engines)} clips for each engine",
        ["SVC_ENGINE", "DistillMOS", "below 3", "words misheard", "clips with one", "length"],
        figures={"clips": clips},
    )
    for engine in engines:
        own = [clip for clip in clips if clip["engine"] == engine]
        wrong, words = sum(clip["wrong"] for clip in own), sum(clip["length"] for clip in own)
        report.rows.append(
            [
                engine,
                f"{mean(clip['mos'] for clip in own):.2f}",
                str(sum(clip["mos"] < 3 for clip in own)),
                f"{wrong} of {words}, {wrong / words:.1%}",
                str(sum(clip["wrong"] > 0 for clip in own)),
                f"{mean(clip['seconds'] for clip in own):.2f} s",
            ]
        )
    report.notes = [
        f"- {clip['engine']}, {clip['voice']}: “{clip['text']}” was heard as “{clip['heard']}”"
        for clip in clips
        if clip["wrong"]
    ]
    return report


if __name__ == "__main__":
    typer.run(main)
