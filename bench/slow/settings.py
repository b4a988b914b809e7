"""`voice_settings` that one can hear: what each slider does to melody, length, speaker and naturalness."""

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
from bench.report import Report
from bench.studio import Studio
from bench.worker import Worker
from svc.voices.settings import VoiceSettings

VOICES = ("af_heart", "bm_george")
_DEFAULTS = VoiceSettings()


@dataclass(frozen=True, slots=True)
class Take:
    slider: str
    value: float | str
    settings: VoiceSettings = _DEFAULTS
    seed: int | None = None


def _with(slider: str, value: float) -> VoiceSettings:
    changes: dict[str, Any] = {slider: value}
    return replace(_DEFAULTS, **changes)


_SLIDERS: dict[str, tuple[float, ...]] = {
    "stability": (0, 0.25, 0.5, 0.75, 1),
    "style": (0, 0.5, 1),
    "speed": (0.5, 0.7, 1, 1.2, 2),
    "similarity_boost": (0, 0.5, 0.75, 1),
    "use_speaker_boost": (False,),
}
_AS_IT_IS = Take("(none)", "")
_TAKES = [
    _AS_IT_IS,
    *(Take(name, value, _with(name, value)) for name, values in _SLIDERS.items() for value in values),
    *(Take("seed", seed, seed=seed) for seed in (1, 2, 3)),
]


def main(
    limit: Annotated[int, typer.Option(help="How many sentences each voice speaks.", min=1)] = 3,
    eval_home: options.EvalHome = options.EVAL_HOME,
    keep: options.Keep = None,
    output: options.Output = None,
) -> None:
    """Each slider alone, the others at their defaults: means over the sentences and two voices."""
    texts = [sentence for sentence in sentences.read("en") if len(sentence.text) > 60][:limit]
    with tempfile.TemporaryDirectory() as scratch, Worker.listening(eval_home) as listener:
        studio, folder = Studio(), keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        clips = [
            _measure(studio, listener, take, voice, number, sentence, folder)
            for take in track(_TAKES, "listening")
            for voice in VOICES
            for number, sentence in enumerate(texts)
        ]
    own = {(clip["voice"], clip["number"]): clip for clip in clips if clip["slider"] == _AS_IT_IS.slider}
    for clip in clips:
        before = own[clip["voice"], clip["number"]]
        clip["similarity"] = float(np.dot(clip["speaker"], before["speaker"]))
        clip["length"] = clip["seconds"] / before["seconds"]
    report = Report(
        "settings",
        f"voice_settings: means over {len(texts)} sentences × {len(VOICES)} voices",
        ["setting", "value", "pitch deviation", "length", "same speaker", "DistillMOS"],
        figures={"clips": [{key: value for key, value in clip.items() if key != "speaker"} for clip in clips]},
    )
    for take in _TAKES:
        report.rows.append(_row(take, [clip for clip in clips if (clip["slider"], clip["value"]) == _name(take)]))
    report.notes = [
        "Pitch deviation: standard deviation over the voiced frames, in semitones. Length and speaker (ERes2Net "
        "cosine) are beside the same sentence without settings.",
        f"Falls with stability: {_monotonic(clips, 'stability', 'pitch_sd', -1)}. Rises with style: "
        f"{_monotonic(clips, 'style', 'pitch_sd', 1)}. Shorter with speed: {_monotonic(clips, 'speed', 'length', -1)}.",
    ]
    report.show()
    report.save(output)


def _name(take: Take) -> tuple[str, float | str]:
    return take.slider, take.value


def _measure(
    studio: Studio,
    listener: Worker,
    take: Take,
    voice: str,
    number: int,
    sentence: sentences.Sentence,
    folder: Path,
) -> dict[str, Any]:
    path = folder / f"{take.slider}-{take.value}-{voice}-{number}.wav"
    seconds = studio.say(sentence.text, voice, path, take.settings, take.seed)
    answer = listener.ask(path=str(path), senses=["mos", "melody", "speaker"])
    return {
        "slider": take.slider,
        "value": take.value,
        "voice": voice,
        "number": number,
        "text": sentence.text,
        "seconds": seconds,
        **answer,
    }


def _row(take: Take, clips: list[dict[str, Any]]) -> list[str]:
    def average(key: str) -> float:
        return float(mean(clip[key] for clip in clips))

    return [
        take.slider,
        str(take.value),
        f"{average('pitch_sd'):.2f}",
        f"× {average('length'):.2f}",
        f"{average('similarity'):.2f}",
        f"{average('mos'):.2f}",
    ]


def _monotonic(clips: list[dict[str, Any]], slider: str, key: str, direction: int) -> str:
    """Whether the mean goes one way over the slider's values."""
    means = [
        mean(clip[key] for clip in clips if (clip["slider"], clip["value"]) == (slider, value))
        for value in _SLIDERS[slider]
    ]
    return "yes" if all(direction * (after - before) > 0 for before, after in pairwise(means)) else "no"


if __name__ == "__main__":
    typer.run(main)
