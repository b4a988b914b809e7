"""Part of bench.slow.turbo: the same held-out sentences by svc-turbo and by its teacher, evaluated alike."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from sys import executable
from typing import Any

import numpy as np
from rich.progress import track

from bench import engine_process, reference_speakers, sentences
from bench.worker import ROOT, Worker
from svc.audio.decode import RATE
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.parameters import VoiceParameters

SENTENCES, OTHER_LANGUAGES = "heldout.tsv", "heldout_languages.tsv"  # never used in training; in training/acoustic/
_ENGINES = {"teacher": engine_process.TEACHER, "turbo": engine_process.TURBO}
_CLONE_ENGINES = {
    "teacher": engine_process.KOKORO,
    "turbo": engine_process.TURBO,
}  # the published graph has one timbre for all layers
_SENTENCES_PER_CLONE = 3

Clip = dict[str, Any]


def measure(name: str, limit: int | None, teacher: Path, eval_home: Path, folder: Path) -> list[Clip]:
    """One clip per sentence and engine. Clips that are in the folder already are not synthesised again."""
    clips = [
        _Clip(who, voice, text, folder / Path(name).stem / f"{number:03}.{who}.wav")
        for number, (voice, text) in enumerate(_read_held_out(name)[:limit])
        for who in _ENGINES
    ]
    return _evaluate_all(clips, _ENGINES, teacher, eval_home)


def measure_clones(speakers: Path, count: int, teacher: Path, eval_home: Path, folder: Path) -> list[Clip]:
    """The same with cloned voices, which neither engine was trained on; only the vocoder differs."""
    encoder = OnnxSpeakerEncoder.load()
    speakers_found = list(filter(reference_speakers.is_clonable, reference_speakers.read_validation_speakers(speakers)))
    chosen = speakers_found[:: max(1, len(speakers_found) // count)][:count]
    voices = {each.name: encoder.encode(reference_speakers.prepare(each.reference), RATE).parameters for each in chosen}
    texts = [text for _, text in _read_held_out(SENTENCES)]
    clips = [
        _Clip(who, name, text, folder / "clones" / f"{name}.{number}.{who}.wav", voices[name])
        for place, name in enumerate(voices)
        for number, text in enumerate(texts[_SENTENCES_PER_CLONE * place :][:_SENTENCES_PER_CLONE])
        for who in _CLONE_ENGINES
    ]
    return _evaluate_all(clips, _CLONE_ENGINES, teacher, eval_home)


def _read_held_out(name: str) -> list[tuple[str, str]]:
    """Voice and text of each line."""
    rows = [line.split("\t") for line in (ROOT / "training/acoustic" / name).read_text(encoding="utf-8").splitlines()]
    return [(voice, text) for voice, _, text in rows]


def _evaluate_all(clips: "list[_Clip]", engines: dict[str, str], teacher: Path, eval_home: Path) -> list[Clip]:
    for who, engine in engines.items():
        if missing := [clip for clip in clips if clip.who == who and not clip.path.exists()]:
            _synthesize(missing, engine, teacher)
    if missing := [clip for clip in clips if not clip.results.exists()]:
        _evaluate(missing, eval_home)
    return [
        {"who": clip.who, "voice": clip.voice, "text": clip.text, **json.loads(clip.results.read_text())}
        for clip in clips
    ]


@dataclass(frozen=True, slots=True)
class _Clip:
    who: str
    voice: str
    text: str
    path: Path
    cloned: VoiceParameters | None = None

    @property
    def results(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def language(self) -> Language:
        """That of the voice, or of the first in a mixture."""
        if self.cloned:
            return Language.ENGLISH_US
        return next(voice.language for voice in load_built_in_voices() if voice.key == self.voice.split("+")[0])


def _synthesize(clips: list[_Clip], engine: str, teacher: Path) -> None:
    phonemizer = Phonemizer()
    with Worker(Path(executable), "bench.engine_process", engine, str(teacher)) as worker:
        for clip in track(clips, f"{engine} synthesises"):
            clip.path.parent.mkdir(parents=True, exist_ok=True)
            phonemes = sentences.phonemize(phonemizer, clip.text, clip.language)
            voice = clip.cloned.to_json() if clip.cloned else clip.voice
            worker.ask(phonemes=phonemes, voice=voice, path=str(clip.path))


def _evaluate(clips: list[_Clip], eval_home: Path) -> None:
    with Worker.evaluator(eval_home) as evaluator:
        for clip in track(clips, "evaluating"):
            results = evaluator.ask(
                path=str(clip.path),
                measures=["mos", "words", "speaker"],
                language=clip.language.split("-")[0],
                references=[clip.text],
            )
            clip.results.write_text(json.dumps(results, ensure_ascii=False))


def summarize(clips: list[Clip]) -> dict[str, Any]:
    """Naturalness and error rate of both, and their speaker similarity, over all and for each voice."""
    pairs = list(zip(clips[::2], clips[1::2], strict=True))
    return {
        "sentences": len(pairs),
        **_compute_figures(pairs),
        "voices": {
            voice: _compute_figures([pair for pair in pairs if pair[0]["voice"] == voice])
            for voice in dict.fromkeys(clip["voice"] for clip in clips)
        },
    }


def _compute_figures(pairs: list[tuple[Clip, Clip]]) -> dict[str, float]:
    figures = {"likeness": mean(float(np.dot(one["speaker"], other["speaker"])) for one, other in pairs)}
    for who, clips in zip(_ENGINES, zip(*pairs, strict=True), strict=True):
        figures[f"{who}_mos"] = mean(clip["mos"] for clip in clips)
        figures[f"{who}_errors"] = sum(clip["wrong"] for clip in clips) / sum(clip["length"] for clip in clips)
    return figures
