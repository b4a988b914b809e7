"""How much of each language, spoken by a native voice, does Whisper base understand?"""

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
from svc.text.language.languages import Language

VOICES = {
    Language.ENGLISH_US: "af_heart",
    Language.ENGLISH_GB: "bf_emma",
    Language.SPANISH: "ef_dora",
    Language.FRENCH: "ff_siwis",
    Language.HINDI: "hf_alpha",
    Language.ITALIAN: "if_sara",
    Language.JAPANESE: "jf_alpha",
    Language.PORTUGUESE_BR: "pf_dora",
    Language.MANDARIN: "zf_xiaobei",
}
BY_CHARACTER = {Language.HINDI: "consonants", Language.JAPANESE: "kana", Language.MANDARIN: "characters"}


def main(
    languages: Annotated[
        list[Language] | None, typer.Option("--language", help="May be repeated; default: all.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N sentences of each.")] = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """The word error rate (Hindi, Japanese and Mandarin: character error rate) and DistillMOS for each language."""
    clips: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder, folder = Recorder(), keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for language in track(languages or list(VOICES), "evaluating"):
            clips += [
                _measure(recorder, evaluator, language, sentence, folder / f"{language}-{number:02}.wav")
                for number, sentence in enumerate(sentences.read(language, limit), 1)
            ]
    report = _make_report(clips)
    report.show()
    report.save(output)


def _make_report(clips: list[dict[str, Any]]) -> Report:
    report = Report(
        "languages",
        "What Whisper base understands in each language",
        ["language", "voice", "sentences", "measure", "error rate", "sentences heard perfectly", "DistillMOS"],
    )
    for language in dict.fromkeys(clip["language"] for clip in clips):
        report.rows.append(_make_row(Language(language), [clip for clip in clips if clip["language"] == language]))
    report.figures["clips"] = clips
    report.notes = [
        "Figures are unified on both sides; Japanese is compared by its sound (kana), Mandarin in simplified "
        "characters, Hindi by its consonants, since Whisper writes it in Urdu letters as a rule.",
        *(
            f"- {clip['language']}: “{clip['text']}” was heard as “{clip['heard']}” ({clip['wrong']} wrong)"
            for clip in clips
            if clip["wrong"]
        ),
    ]
    return report


def _measure(
    recorder: Recorder, evaluator: Worker, language: Language, sentence: sentences.Sentence, path: Path
) -> dict[str, Any]:
    seconds = recorder.record_text(sentence.text, VOICES[language], path)
    answer = evaluator.ask(
        path=str(path),
        measures=["mos", "words"],
        language=language.split("-")[0],
        references=sentence.references,
    )
    return {"language": language, "text": sentence.text, "seconds": round(seconds, 2), **answer}


def _make_row(language: Language, clips: list[dict[str, Any]]) -> list[str]:
    rate = sum(clip["wrong"] for clip in clips) / sum(clip["length"] for clip in clips)
    return [
        language,
        VOICES[language],
        str(len(clips)),
        BY_CHARACTER.get(language, "words"),
        f"{rate:.1%}",
        str(sum(not clip["wrong"] for clip in clips)),
        f"{mean(clip['mos'] for clip in clips):.2f}",
    ]


if __name__ == "__main__":
    typer.run(main)
