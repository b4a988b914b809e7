"""What does each of `voice_settings`, and `seed`, do to pitch, length, speaker and naturalness?"""

import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from bench import options, sentences
from bench.recorder import Recorder
from bench.report import Report
from bench.worker import Worker
from svc.voices.settings import VoiceSettings

VOICES = ("af_heart", "bm_george")
_DEFAULTS = VoiceSettings()


@dataclass(frozen=True, slots=True)
class Variant:
    slider: str
    value: float | str
    settings: VoiceSettings = _DEFAULTS
    seed: int | None = None


def _create_settings(slider: str, value: float) -> VoiceSettings:
    changes: dict[str, Any] = {slider: value}
    return replace(_DEFAULTS, **changes)


_SLIDERS: dict[str, tuple[float, ...]] = {
    "stability": (0, 0.25, 0.5, 0.75, 1),
    "style": (0, 0.5, 1),
    "speed": (0.5, 0.7, 1, 1.2, 2),
    "similarity_boost": (0, 0.5, 0.75, 1),
    "use_speaker_boost": (False,),
}
_DEFAULT = Variant("(none)", "")
_VARIANTS = [
    _DEFAULT,
    *(Variant(name, value, _create_settings(name, value)) for name, values in _SLIDERS.items() for value in values),
    *(Variant("seed", seed, seed=seed) for seed in (1, 2, 3)),
]


def main(
    limit: Annotated[int, typer.Option(help="Number of sentences per voice.", min=1)] = 3,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Each setting alone, the others at their defaults: means over the sentences and two voices."""
    texts = [sentence for sentence in sentences.read("en") if len(sentence.text) > 60][:limit]
    with tempfile.TemporaryDirectory() as scratch, Worker.evaluator(eval_home) as evaluator:
        recorder, folder = Recorder(), keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        clips = [
            _measure(recorder, evaluator, variant, voice, number, sentence, folder)
            for variant in track(_VARIANTS, "evaluating")
            for voice in VOICES
            for number, sentence in enumerate(texts)
        ]
    unchanged = {(clip["voice"], clip["number"]): clip for clip in clips if clip["slider"] == _DEFAULT.slider}
    for clip in clips:
        before = unchanged[clip["voice"], clip["number"]]
        clip["similarity"] = float(np.dot(clip["speaker"], before["speaker"]))
        clip["length"] = clip["seconds"] / before["seconds"]
    report = Report(
        "settings",
        f"voice_settings: means over {len(texts)} sentences × {len(VOICES)} voices",
        ["setting", "value", "pitch deviation", "length", "same speaker", "DistillMOS"],
        figures={"clips": [{key: value for key, value in clip.items() if key != "speaker"} for clip in clips]},
    )
    for variant in _VARIANTS:
        report.rows.append(
            _make_row(variant, [clip for clip in clips if (clip["slider"], clip["value"]) == _name(variant)])
        )
    report.notes = [
        "Pitch deviation: standard deviation over the voiced frames, in semitones. Length and speaker (ERes2Net "
        "cosine) are beside the same sentence without settings.",
        f"Falls with stability: {_check_order(clips, 'stability', 'pitch_sd', -1)}. "
        f"Rises with style: {_check_order(clips, 'style', 'pitch_sd', 1)}. "
        f"Shorter with speed: {_check_order(clips, 'speed', 'length', -1)}.",
    ]
    report.show()
    report.save(output)


def _name(variant: Variant) -> tuple[str, float | str]:
    return variant.slider, variant.value


def _measure(
    recorder: Recorder,
    evaluator: Worker,
    variant: Variant,
    voice: str,
    number: int,
    sentence: sentences.Sentence,
    folder: Path,
) -> dict[str, Any]:
    path = folder / f"{variant.slider}-{variant.value}-{voice}-{number}.wav"
    seconds = recorder.record_text(sentence.text, voice, path, variant.settings, variant.seed)
    answer = evaluator.ask(path=str(path), measures=["mos", "melody", "speaker"])
    return {
        "slider": variant.slider,
        "value": variant.value,
        "voice": voice,
        "number": number,
        "text": sentence.text,
        "seconds": seconds,
        **answer,
    }


def _make_row(variant: Variant, clips: list[dict[str, Any]]) -> list[str]:
    def average(key: str) -> float:
        return float(mean(clip[key] for clip in clips))

    return [
        variant.slider,
        str(variant.value),
        f"{average('pitch_sd'):.2f}",
        f"× {average('length'):.2f}",
        f"{average('similarity'):.2f}",
        f"{average('mos'):.2f}",
    ]


def _check_order(clips: list[dict[str, Any]], slider: str, key: str, direction: int) -> str:
    """Whether the mean changes in one direction over the setting's values: yes or no."""
    means = [
        mean(clip[key] for clip in clips if (clip["slider"], clip["value"]) == (slider, value))
        for value in _SLIDERS[slider]
    ]
    return "yes" if all(direction * (after - before) > 0 for before, after in pairwise(means)) else "no"


if __name__ == "__main__":
    typer.run(main)
