"""How natural is English, and how many words does Whisper get wrong, in 40 varied sentences and four voices?"""

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

VOICES = ("af_heart", "am_eric", "bf_isabella", "bm_fable")
MOS_BAR, WER_BAR = 4.5, 0.03


def main(
    voices: Annotated[list[str] | None, typer.Option("--voice", help="May be repeated; default: four voices.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N sentences.")] = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Mean DistillMOS and the word error rate of Whisper base, for each voice and altogether."""
    texts = sentences.read("en", limit)
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder, folder = Recorder(), keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        utterances = [(voice, number, text) for voice in voices or VOICES for number, text in enumerate(texts, 1)]
        clips = [
            _measure(recorder, evaluator, voice, sentence, folder / f"{voice}-{number:02}.wav")
            for voice, number, sentence in track(utterances, "evaluating")
        ]
    report = _make_report(clips)
    report.show()
    report.save(output)


def _make_report(clips: list[dict[str, Any]]) -> Report:
    voices = list(dict.fromkeys(clip["voice"] for clip in clips))
    report = Report(
        "quality",
        f"English, {len(clips) // len(voices)} sentences × {len(voices)} voices",
        ["voice", "DistillMOS", "lowest", "word error rate", "plain word error rate", "speech"],
        figures={"clips": clips},
    )
    for voice in voices:
        report.rows.append(_make_row(voice, [clip for clip in clips if clip["voice"] == voice]))
    report.rows.append(_make_row("all", clips))
    report.figures |= {"mos": _mos(clips), "wer": _wer(clips), "plain_wer": _plain_wer(clips)}
    report.notes = [
        f"Bars: DistillMOS at least {MOS_BAR}, word error rate at most {WER_BAR:.0%}. "
        "The word error rate is over all words, with figures and spellings unified on both sides; the plain one "
        "is the mean over the sentences with only case, punctuation and whole numbers evened out.",
        *(
            f"- {clip['voice']}: “{clip['text']}” was heard as “{clip['heard']}” ({clip['wrong']} wrong)"
            for clip in clips
            if clip["wrong"]
        ),
    ]
    return report


def _measure(
    recorder: Recorder, evaluator: Worker, voice: str, sentence: sentences.Sentence, path: Path
) -> dict[str, Any]:
    seconds = recorder.record_text(sentence.text, voice, path)
    answer = evaluator.ask(path=str(path), measures=["mos", "words"], language="en", references=sentence.references)
    return {"voice": voice, "text": sentence.text, "seconds": round(seconds, 2), **answer}


def _mos(clips: list[dict[str, Any]]) -> float:
    return round(float(mean(clip["mos"] for clip in clips)), 3)


def _wer(clips: list[dict[str, Any]]) -> float:
    return round(float(sum(clip["wrong"] for clip in clips) / sum(clip["length"] for clip in clips)), 4)


def _plain_wer(clips: list[dict[str, Any]]) -> float:
    return round(float(mean(clip["plain_wer"] for clip in clips)), 4)


def _make_row(name: str, clips: list[dict[str, Any]]) -> list[str]:
    lowest = min(clip["mos"] for clip in clips)
    seconds = sum(clip["seconds"] for clip in clips)
    return [
        name,
        f"{_mos(clips):.2f}",
        f"{lowest:.2f}",
        f"{_wer(clips):.1%}",
        f"{_plain_wer(clips):.1%}",
        f"{seconds:.0f} s",
    ]


if __name__ == "__main__":
    typer.run(main)
