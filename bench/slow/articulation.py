"""In a language without voices of its own: whose layers should articulate it, so that Whisper base understands most?"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from bench import heard, options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.worker import Worker
from svc.text.language import Language
from svc.text.language_table import load_table

CANDIDATES = [
    Language.SPANISH,
    Language.ITALIAN,
    Language.PORTUGUESE_BR,
    Language.FRENCH,
    Language.HINDI,
    Language.JAPANESE,
    Language.MANDARIN,
]


def main(
    languages: Annotated[list[Language] | None, typer.Option("--language", help="May be repeated.")] = None,
    candidates: Annotated[list[Language] | None, typer.Option("--candidate", help="May be repeated.")] = None,
    voices: Annotated[list[str] | None, typer.Option("--voice", help="May be repeated.")] = None,
    limit: Annotated[int, typer.Option(help="How many sentences.")] = 8,
    eval_home: options.EvalHome = options.EVAL_HOME,
    output: options.Output = None,
) -> None:
    """Characters wrong by Whisper base, for each language and each language whose voices may lend their layers."""
    voices = voices or ["af_heart", "am_michael"]
    candidates = candidates or CANDIDATES
    report = Report("articulation", "Whose layers articulate a language best", ["language", *candidates])
    report.notes.append(f"Characters that Whisper base mishears, {limit} sentences, {' and '.join(voices)}.")
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder = Recorder()
        for language in track(languages or [each for each in Language if each.row], "evaluating"):
            texts = [sentence.text for sentence in sentences.read(language, limit)]
            cells = []
            for candidate in candidates:
                _articulate_like(language, candidate)
                rates = [
                    heard.listen(recorder, evaluator, language, voice, texts, Path(scratch), listeners=["base"])
                    for voice in map(recorder.voices.find, voices)
                ]
                cells.append(sum(each.wrong["base"] for each in rates) / sum(each.characters for each in rates))
            report.rows.append([language, *(f"{cell:.1%}" for cell in cells)])
            report.figures[language] = dict(zip(candidates, cells, strict=True))
    report.show()
    report.save(output)


def _articulate_like(language: Language, candidate: Language) -> None:
    """Changes the row of the table in this process, as if the file had said so."""
    table = load_table()
    table[language] = replace(table[language], articulation=candidate.value)


if __name__ == "__main__":
    typer.run(main)
