"""How well is each language spoken by voices that have another one as their own? Measures it, and grades it.

The grades are written to src/svc/data/grades.json, where the service reads them, with the figures that they come from.
A language that is measured again replaces its row; the others stay. What training/accents/evaluate.py has spoken and
heard on a GPU is graded in the same way (`--heard`).
"""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer
from rich.progress import track

from bench import heard, options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.slow.languages import VOICES as NATIVE_VOICES
from bench.worker import Worker
from svc.text.language.grades import Grade
from svc.text.language.languages import Language

GRADES = Path(__file__).parents[2] / "src/svc/data/grades.json"
VOICES = ["af_heart", "am_michael", "bf_emma", "bm_george"]
LISTENERS = ("base", "small")
# What the listeners mishear of voices in their own language: what the others are compared with.
NATIVES = (Language.SPANISH, Language.ITALIAN, Language.PORTUGUESE_BR)

# Good: within two points of the native languages for both listeners, and natural.
GOOD_MARGIN, GOOD_MOS = 0.02, 4.2
# Fair: the better listener gets about six characters of seven, most errors being one letter of a word. From there on
# sentences cannot be followed without guessing.
FAIR_RATE, FAIR_MOS = 0.15, 3.5


def main(
    languages: Annotated[list[Language] | None, typer.Option("--language", help="May be repeated.")] = None,
    voices: Annotated[list[str] | None, typer.Option("--voice", help="May be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N sentences of each.")] = None,
    listeners: Annotated[
        list[str] | None, typer.Option("--listener", help="base or small; with one of them no language is good.")
    ] = None,
    judged: Annotated[int, typer.Option(help="How many sentences of each voice are judged for naturalness.")] = 6,
    transcripts: Annotated[
        Path | None, typer.Option("--heard", help="A folder with heard.jsonl and clips.jsonl of accents.evaluate.")
    ] = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Characters wrong by two listeners and DistillMOS for each language; the grades follow from them."""
    voices, listeners = voices or VOICES, listeners or list(LISTENERS)
    stored: dict[str, Any] = json.loads(GRADES.read_text(encoding="utf-8"))
    if transcripts:
        _grade_transcripts(stored, transcripts, languages or _list_measurable(), voices)
        _show(stored, output)
        return
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder, folder = Recorder(), keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)

        def measure(language: Language, speakers: list[str]) -> dict[str, Any]:
            texts = [sentence.text for sentence in sentences.read(language, limit)]
            results = [
                heard.listen(recorder, evaluator, language, voice, texts, folder, listeners=listeners, judged=judged)
                for voice in map(recorder.voices.find, speakers)
            ]
            return _summarize(results, len(texts), speakers, listeners)

        if "native" not in stored and len(listeners) == len(LISTENERS):
            stored["native"] = {language: measure(language, [NATIVE_VOICES[language]]) for language in NATIVES}
        for language in track(languages or _list_measurable(), "measuring"):
            row = measure(language, voices)
            row["grade"] = grade(row, stored.get("native"))
            stored["languages"][language.value] = row
            GRADES.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _show(stored, output)


def _show(stored: dict[str, Any], output: Path | None) -> None:
    report = _make_report(stored)
    report.show()
    report.save(output)


def _grade_transcripts(stored: dict[str, Any], folder: Path, languages: list[Language], voices: list[str]) -> None:
    found = read_transcripts(folder)

    def summarize(row: str, language: Language, speakers: list[str], systems: tuple[str, ...]) -> dict[str, Any]:
        results = [
            next(found[system, row, voice] for system in systems if (system, row, voice) in found) for voice in speakers
        ]
        return _summarize(results, len(sentences.read(language)), speakers, list(LISTENERS))

    if any(row.endswith(" native") for _, row, _ in found):  # not where some languages were trained further
        stored["native"] = {
            language: summarize(f"{language} native", language, [NATIVE_VOICES[language]], ("before",))
            for language in NATIVES
        }
    for language in languages:
        # Symbols were changed in some of them only.
        row = summarize(language, language, voices, ("symbols", "after"))
        row["grade"] = grade(row, stored["native"])
        stored["languages"][language.value] = row
    GRADES.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_transcripts(folder: Path) -> dict[tuple[str, str, str], heard.Heard]:
    """What was heard of each system, row and voice; a row is a language, or a language and "native"."""
    found: dict[tuple[str, str, str], heard.Heard] = {}
    for line in _read_lines(folder / "heard.jsonl"):
        key = line["system"], line["row"], line["voice"]
        each = found.setdefault(key, heard.Heard(wrong=dict.fromkeys(LISTENERS, 0)))
        language = Language(line["row"].split()[0])
        reference = heard.spell(" ".join(line["texts"]), language)
        each.characters += len(reference)
        for listener in LISTENERS:
            each.wrong[listener] += heard.count_wrong(reference, heard.spell(line[listener], language))
        each.pieces.append(line)
    for line in _read_lines(folder / "clips.jsonl"):
        found[line["system"], line["row"], line["voice"]].mos.append(line["mos"])
    return found


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def grade(row: dict[str, Any], native: dict[str, Any] | None) -> Grade:
    if native and all(each in row for each in LISTENERS) and row["mos"] >= GOOD_MOS:
        allowed = {each: mean(other[each] for other in native.values()) + GOOD_MARGIN for each in LISTENERS}
        if all(row[each] <= allowed[each] for each in LISTENERS):
            return Grade.GOOD
    best = min(row[each] for each in LISTENERS if each in row)
    return Grade.FAIR if best <= FAIR_RATE and row["mos"] >= FAIR_MOS else Grade.NOT_OFFERED


def _list_measurable() -> list[Language]:
    return [language for language in Language if language.row and sentences.exist(language)]


def _summarize(results: list[heard.Heard], count: int, voices: list[str], listeners: list[str]) -> dict[str, Any]:
    characters = sum(each.characters for each in results)
    return {
        "measured": datetime.now(UTC).date().isoformat(),
        "sentences": count,
        "voices": voices,
        **{each: round(sum(result.wrong[each] for result in results) / characters, 4) for each in listeners},
        "mos": round(mean(score for result in results for score in result.mos), 2),
        "by_voice": {
            voice: {**{each: round(result.rate(each), 4) for each in listeners}, "mos": round(result.naturalness, 2)}
            for voice, result in zip(voices, results, strict=True)
        },
    }


def _make_report(stored: dict[str, Any]) -> Report:
    report = Report(
        "grades",
        "How well each language is spoken",
        ["language", "grade", "sentences", "voices", "Whisper base", "Whisper small", "DistillMOS"],
    )
    native = {f"{code} (native voice)": row for code, row in stored.get("native", {}).items()}
    rows = {**native, **stored["languages"]}
    for name, row in rows.items():
        cells = [row.get("grade", "–"), str(row["sentences"]), str(len(row["voices"]))]
        rates = [f"{row[each]:.1%}" if each in row else "" for each in LISTENERS]
        report.rows.append([name, *cells, *rates, f"{row['mos']:.2f}"])
    report.notes.append(
        "Characters wrong. The sentences of a voice are heard in pieces of up to 29.5 s, numbers are spelt out, and "
        f"spaces do not count. Good: within {GOOD_MARGIN:.0%} of the mean of the native voices for both listeners, "
        f"DistillMOS ≥ {GOOD_MOS}. Fair: ≤ {FAIR_RATE:.0%} for the better listener, DistillMOS ≥ {FAIR_MOS}."
    )
    report.figures = stored
    return report


if __name__ == "__main__":
    typer.run(main)
