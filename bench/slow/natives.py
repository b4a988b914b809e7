"""Are the built-in voices as natural and as clear in their own languages as those of another engine?"""

import tempfile
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer
from rich.progress import track

from bench import heard, options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.slow.languages import BY_CHARACTER, VOICES
from bench.worker import Worker
from svc.text.language.languages import Language

_LISTENERS = ("base", "small")


def main(
    engines: Annotated[list[str] | None, typer.Option("--engine", help="May be repeated.")] = None,
    languages: Annotated[list[Language] | None, typer.Option("--language", help="May be repeated.")] = None,
    voices: Annotated[int, typer.Option(help="Of each language, at most.")] = 2,
    limit: Annotated[int, typer.Option(help="Only the first N sentences of each.")] = 10,
    listeners: Annotated[list[str] | None, typer.Option("--listener", help="base or small.")] = None,
    judged: Annotated[bool, typer.Option(help="Whether naturalness is judged.")] = True,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """DistillMOS and the words (Hindi, Japanese, Mandarin: characters) that Whisper base and small get wrong."""
    engines, listeners = engines or ["turbo", "kokoro"], listeners or list(_LISTENERS)
    languages = languages or [each for each in VOICES if each is not Language.ENGLISH_GB]
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        for engine in engines:
            recorder = Recorder(engine)
            for language in track(languages, engine):
                native = (voice.key for voice in recorder.voices if voice.language is language and not voice.custom)
                row = results.setdefault(language, {}).setdefault(engine, _start_row(listeners))
                for voice in islice(native, voices):
                    texts = [each.text for each in sentences.read(language, limit)]
                    _measure(recorder, evaluator, language, voice, texts, Path(scratch), judged, row)
    report = _make_report(results, engines, listeners)
    report.show()
    report.save(output)


def _start_row(listeners: list[str]) -> dict[str, Any]:
    return {"mos": [], "wrong": dict.fromkeys(listeners, 0), "length": 0}


def _measure(
    recorder: Recorder,
    evaluator: Worker,
    language: Language,
    voice: str,
    texts: list[str],
    folder: Path,
    judged: bool,
    row: dict[str, Any],
) -> None:
    speaker, rate = recorder.voices.find(voice), recorder.sample_rate
    recordings = heard.speak(recorder, language, speaker, texts)
    path = folder / "clip.wav"
    for _, samples in recordings if judged else []:
        heard.write(path, samples, rate)
        row["mos"].append(evaluator.ask(path=str(path), measures=["mos"])["mos"])
    for piece in heard.join_pieces(recordings, rate):
        heard.write(path, heard.join(piece, rate), rate)
        text = " ".join(sentence for sentence, _ in piece)
        request = {"path": str(path), "measures": ["words"], "references": [text], "language": language.code}
        answers = {listener: evaluator.ask(**request, listener=listener) for listener in row["wrong"]}
        for listener, answer in answers.items():
            row["wrong"][listener] += answer["wrong"]
        row["length"] += next(iter(answers.values()))["length"]


def _make_report(results: dict[str, dict[str, Any]], engines: list[str], listeners: list[str]) -> Report:
    columns = [f"{measure}, {engine}" for measure in ("DistillMOS", *listeners) for engine in engines]
    report = Report("natives", "The built-in voices in their own languages", ["language", "counted", *columns])
    for language, rows in results.items():
        natural = [f"{mean(rows[engine]['mos']):.2f}" if rows[engine]["mos"] else "–" for engine in engines]
        wrong = [
            f"{rows[engine]['wrong'][listener] / rows[engine]['length']:.1%}"
            for listener in listeners
            for engine in engines
        ]
        report.rows.append([language, BY_CHARACTER.get(Language(language), "words"), *natural, *wrong])
    report.notes.append(f"Words or characters wrong by Whisper {' and '.join(listeners)}, in pieces of up to 29.5 s.")
    report.figures = {"languages": results}
    return report


if __name__ == "__main__":
    typer.run(main)
