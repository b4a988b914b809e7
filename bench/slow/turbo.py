"""How does svc-turbo compare with its teacher, Piper and kokoro-onnx in speed, memory and quality?"""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import engine_process, options
from bench.report import Report, figures_file
from bench.slow import concurrency, engine_speed, teacher_similarity

Figures = dict[str, Any]


class Part(StrEnum):
    SPEED = "speed"  # and memory
    QUALITY = "quality"
    LANGUAGES = "languages"
    CLONES = "clones"  # needs recordings of people
    TURNS = "turns"


def main(
    teacher: Annotated[Path, typer.Argument(help="Kokoro's published fp32 file, as teacher.fetch gets it.")],
    only: Annotated[list[Part] | None, typer.Option(help="May be repeated; what was measured before stays.")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds in which each engine synthesises the texts.", min=1)] = 5,
    limit: Annotated[int | None, typer.Option(help="Only the first N held-out sentences.")] = None,
    speakers: Annotated[
        Path | None, typer.Option(envvar="SPEAKERS_HOME", help="Recordings to clone from, with an index.tsv.")
    ] = None,
    clones: Annotated[int, typer.Option(help="Number of cloned speakers.", min=1)] = 10,
    keep: options.Keep = None,
    eval_home: options.EvalHome = options.EVAL_HOME,
    peers_home: options.PeersHome = options.PEERS_HOME,
    output: options.Output = None,
) -> None:
    """One table of all parts. With --keep an interrupted run can be continued."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)

        def compare(name: str) -> Figures:
            return teacher_similarity.summarize(teacher_similarity.measure(name, limit, teacher, eval_home, folder))

        measures: dict[Part, Callable[[], Figures]] = {
            Part.SPEED: lambda: engine_speed.measure(rounds, teacher, peers_home),
            Part.TURNS: lambda: concurrency.measure(rounds),
            Part.QUALITY: lambda: compare(teacher_similarity.SENTENCES),
            Part.LANGUAGES: lambda: compare(teacher_similarity.OTHER_LANGUAGES),
        }
        if speakers:
            measures[Part.CLONES] = lambda: teacher_similarity.summarize(
                teacher_similarity.measure_clones(speakers, clones, teacher, eval_home, folder)
            )
        known = figures_file("beside-other-engines", output)
        figures: Figures = json.loads(known.read_text()) if known.exists() else {}
        for part, measure in measures.items():
            if part in (only or list(Part)):
                figures[part] = {"at": datetime.now(UTC).isoformat(timespec="minutes"), **measure()}
                report = _make_report(figures)
                report.save(output)
    report.show()


_ENGINES = [engine_process.TURBO, engine_process.TEACHER, engine_process.KOKORO, *engine_speed.PEERS]


def _make_report(figures: Figures) -> Report:
    report = Report(
        "beside-other-engines",
        "svc-turbo beside its teacher, Piper and kokoro-onnx",
        ["measure", *_ENGINES, "svc-turbo to its teacher", "bar", "stretch"],
        figures={part: figures[part] for part in Part if part in figures},
    )
    if Part.SPEED in figures:
        _add_speed(report, figures[Part.SPEED])
    if Part.QUALITY in figures:
        _add_quality(report, figures[Part.QUALITY])
    if Part.LANGUAGES in figures:
        _add_languages(report, figures[Part.LANGUAGES])
    if Part.CLONES in figures:
        _add_clones(report, figures[Part.CLONES])
    if Part.TURNS in figures:
        _add_concurrency(report, figures[Part.TURNS])
    return report


def _add_speed(report: Report, speed: Figures) -> None:
    for name, key, form, bar, stretch in (
        ("real-time factor, a paragraph", "real_time_factor", "{:.3f}", "≤ 1/10", "≤ 1/20, below Piper's"),
        ("time of all cores for a second of it", "work", "{:.3f} s", "", ""),
        ("first sound of twelve words", "first_sound", "{:.3f} s", "≤ 1/10", "≤ 0.060 s"),
        ("resident memory", "megabytes", "{:.0f} MB", "below the teacher's", "< 500 MB"),
    ):
        values = [speed[engine][key] for engine in _ENGINES]
        report.rows.append(
            [name, *(form.format(value) for value in values), f"1/{values[1] / values[0]:.1f}", bar, stretch]
        )
    report.notes.append(
        f"Speed, {speed['at']}: medians of rounds in which the engines take turns, each in a process of its own; the "
        "first three from phonemes, Piper (en_US-joe-medium) and kokoro-onnx (the int8 weights of Kokoro in svc) "
        "from text. Kokoro fp32 is the published graph, run whole. Others may have been computing too: the time of all "
        "cores depends least on them."
    )


def _add_quality(report: Report, quality: Figures) -> None:
    gap = quality["turbo_mos"] - quality["teacher_mos"]
    wrong = quality["turbo_errors"] - quality["teacher_errors"]
    voices = quality["voices"]
    furthest = min(voices, key=lambda voice: float(voices[voice]["likeness"]))
    report.rows += [
        _make_row("DistillMOS", quality, "mos", "{:.3f}", f"{gap:+.3f}", "within 0.15", "within 0.05"),
        _make_row(
            "words heard wrong", quality, "errors", "{:.2%}", f"{100 * wrong:+.2f} points", "≤ +0.5 points", "equal"
        ),
        _make_row("likeness, mean", quality, "", "", f"{quality['likeness']:.3f}", "≥ 0.80", "≥ 0.90"),
        _make_row(
            "likeness, lowest voice", quality, "", "", f"{voices[furthest]['likeness']:.3f} ({furthest})", "≥ 0.65", ""
        ),
    ]
    report.notes.append(
        f"Quality, {quality['at']}: {quality['sentences']} sentences that training never saw, over {len(voices)} "
        "voices (those with a plus are mixtures); DistillMOS, Whisper base, and the ERes2Net cosine of the two clips."
    )


def _add_languages(report: Report, languages: Figures) -> None:
    wrong = languages["turbo_errors"] - languages["teacher_errors"]
    gap = languages["turbo_mos"] - languages["teacher_mos"]
    report.rows += [
        _make_row(
            "other languages, heard wrong",
            languages,
            "errors",
            "{:.1%}",
            f"{100 * wrong:+.1f} points",
            "≤ +1 point",
            "equal",
        ),
        _make_row("other languages, DistillMOS", languages, "mos", "{:.3f}", f"{gap:+.3f}", "", ""),
    ]
    report.notes.append(
        f"Other languages, {languages['at']}: {languages['sentences']} sentences in seven languages, as words or, in "
        "Hindi, Japanese and Mandarin, as characters."
    )


def _add_clones(report: Report, clones: Figures) -> None:
    voices = clones["voices"]
    furthest = min(voices, key=lambda voice: float(voices[voice]["likeness"]))
    report.notes.append(
        f"Cloned voices, {clones['at']}: {clones['sentences']} sentences by the clones of {len(voices)} people, "
        f"svc-turbo beside SVC_ENGINE=kokoro. Likeness {clones['likeness']:.3f}, lowest "
        f"{voices[furthest]['likeness']:.3f} ({furthest}); DistillMOS {clones['turbo_mos']:.3f} and "
        f"{clones['teacher_mos']:.3f}; words heard wrong {clones['turbo_errors']:.1%} and "
        f"{clones['teacher_errors']:.1%}."
    )


def _make_row(name: str, figures: Figures, key: str, form: str, compared: str, bar: str, stretch: str) -> list[str]:
    both = [form.format(figures[f"{who}_{key}"]) if key else "" for who in ("turbo", "teacher")]
    return [name, *both, *[""] * (len(_ENGINES) - 2), compared, bar, stretch]


def _add_concurrency(report: Report, concurrency: Figures) -> None:
    in_turn, at_once = concurrency["one_after_the_other"], concurrency["at_once"]
    report.notes.append(
        f"Sharing, {concurrency['at']}: a paragraph asked for twice over HTTP takes {in_turn['seconds']:.2f} s "
        f"({in_turn['work']:.2f} s of all cores) one after the other, and {at_once['seconds']:.2f} s "
        f"({at_once['work']:.2f} s) at once (bar: not slower). The later of the first bytes comes after "
        f"{in_turn['later_first_byte']:.2f} s and {at_once['later_first_byte']:.2f} s. An idle server uses "
        f"{concurrency['share_of_a_core_while_idle']:.1%} of a core."
    )


if __name__ == "__main__":
    typer.run(main)
