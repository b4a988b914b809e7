"""How near svc-turbo is to its teacher: the same held-out sentences by both, heard by the same ears."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from sys import executable
from typing import Any

import numpy as np
from rich.progress import track

from bench import pace, references, speaking
from bench.worker import ROOT, Worker
from svc.audio.decode import RATE
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.voices.catalogue import built_in
from svc.voices.parameters import VoiceParameters

SENTENCES, OTHER_LANGUAGES = "heldout.tsv", "heldout_languages.tsv"  # what training never saw, in training/
_WHO = {"teacher": speaking.TEACHER, "turbo": speaking.TURBO}
_WHO_CLONES = {"teacher": speaking.KOKORO, "turbo": speaking.TURBO}  # the published graph has one timbre for all layers
_SAID_BY_A_CLONE = 3

Clip = dict[str, Any]


def measure(name: str, limit: int | None, teacher: Path, eval_home: Path, folder: Path) -> list[Clip]:
    """One clip a sentence and a speaker. What the folder holds already is not made again."""
    clips = [
        _Clip(who, voice, text, folder / Path(name).stem / f"{number:03}.{who}.wav")
        for number, (voice, text) in enumerate(_held_out(name)[:limit])
        for who in _WHO
    ]
    return _heard(clips, _WHO, teacher, eval_home)


def measure_clones(speakers: Path, count: int, teacher: Path, eval_home: Path, folder: Path) -> list[Clip]:
    """The same with the voices of people, which neither engine was trained on; the vocoder is what differs."""
    encoder = OnnxSpeakerEncoder.load()
    people = list(filter(references.clonable, references.validation(speakers)))
    chosen = people[:: max(1, len(people) // count)][:count]
    voices = {each.name: encoder.encode(references.prepared(each.reference), RATE).parameters for each in chosen}
    texts = [text for _, text in _held_out(SENTENCES)]
    clips = [
        _Clip(who, name, text, folder / "clones" / f"{name}.{number}.{who}.wav", voices[name])
        for place, name in enumerate(voices)
        for number, text in enumerate(texts[_SAID_BY_A_CLONE * place :][:_SAID_BY_A_CLONE])
        for who in _WHO_CLONES
    ]
    return _heard(clips, _WHO_CLONES, teacher, eval_home)


def _held_out(name: str) -> list[tuple[str, str]]:
    """Voice and text of each line."""
    rows = [line.split("\t") for line in (ROOT / "training" / name).read_text(encoding="utf-8").splitlines()]
    return [(voice, text) for voice, _, text in rows]


def _heard(clips: "list[_Clip]", engines: dict[str, str], teacher: Path, eval_home: Path) -> list[Clip]:
    for who, engine in engines.items():
        if missing := [clip for clip in clips if clip.who == who and not clip.path.exists()]:
            _record(missing, engine, teacher)
    if missing := [clip for clip in clips if not clip.heard.exists()]:
        _listen(missing, eval_home)
    return [
        {"who": clip.who, "voice": clip.voice, "text": clip.text, **json.loads(clip.heard.read_text())}
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
    def heard(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def language(self) -> Language:
        """That of the voice, or of the first in a mixture."""
        if self.cloned:
            return Language.ENGLISH_US
        return next(voice.language for voice in built_in() if voice.key == self.voice.split("+")[0])


def _record(clips: list[_Clip], engine: str, teacher: Path) -> None:
    phonemizer = Phonemizer()
    with Worker(Path(executable), "bench.speaking", engine, str(teacher)) as speaker:
        for clip in track(clips, f"{engine} speaks"):
            clip.path.parent.mkdir(parents=True, exist_ok=True)
            phonemes = pace.read(phonemizer, clip.text, clip.language)
            voice = clip.cloned.to_json() if clip.cloned else clip.voice
            speaker.ask(phonemes=phonemes, voice=voice, path=str(clip.path))


def _listen(clips: list[_Clip], eval_home: Path) -> None:
    with Worker.listening(eval_home) as listener:
        for clip in track(clips, "listening"):
            heard = listener.ask(
                path=str(clip.path),
                senses=["mos", "words", "speaker"],
                language=clip.language.split("-")[0],
                references=[clip.text],
            )
            clip.heard.write_text(json.dumps(heard, ensure_ascii=False))


def summary(clips: list[Clip]) -> dict[str, Any]:
    """Naturalness and error rate of both, and the student's likeness to the teacher, over all and for each voice."""
    pairs = list(zip(clips[::2], clips[1::2], strict=True))
    return {
        "sentences": len(pairs),
        **_figures(pairs),
        "voices": {
            voice: _figures([pair for pair in pairs if pair[0]["voice"] == voice])
            for voice in dict.fromkeys(clip["voice"] for clip in clips)
        },
    }


def _figures(pairs: list[tuple[Clip, Clip]]) -> dict[str, float]:
    figures = {"likeness": mean(float(np.dot(one["speaker"], other["speaker"])) for one, other in pairs)}
    for who, clips in zip(_WHO, zip(*pairs, strict=True), strict=True):
        figures[f"{who}_mos"] = mean(clip["mos"] for clip in clips)
        figures[f"{who}_errors"] = sum(clip["wrong"] for clip in clips) / sum(clip["length"] for clip in clips)
    return figures
