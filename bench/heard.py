"""What Whisper hears of sentences, in characters.

Whisper listens to 30 seconds at a time, however short a clip is. So the sentences of one voice are joined to pieces of
almost that length, and heard together.
"""

import re
import unicodedata
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import jiwer
import numpy as np

from bench.recorder import Recorder
from bench.worker import Worker
from svc.audio.samples import Samples
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.text.normalise import normalise
from svc.voices.catalogue import Voice

_WHISPER_CODES = {Language.FILIPINO: "tl"}
_LONGEST_PIECE = 29.5  # in seconds
_GAP = 0.3  # besides the silence at the end of each sentence
# Letters that many write without their marks.
_PLAIN_LETTERS = {
    Language.GERMAN: str.maketrans({"ß": "ss"}),
    Language.ROMANIAN: str.maketrans({"ş": "ș", "ţ": "ț"}),
    Language.RUSSIAN: str.maketrans({"ё": "е"}),
    Language.TURKISH: str.maketrans({"â": "a", "î": "i", "û": "u"}),
}

# Spellings of one sound, which no listener can tell apart: "piyano" and "piano", "kuwento" and "kuento", "bangko" and
# "banko", "sine" and "cine".
_SAME_SOUNDS = {
    Language.FILIPINO: [
        (re.compile("i?y(?=[aeiou])"), "i"),
        (re.compile("u?w(?=[aeiou])"), "u"),
        (re.compile("c(?=[ei])"), "s"),
        (re.compile("c(?!h)"), "k"),
        (re.compile("n(?=k)"), "ng"),
    ]
}


Recording = tuple[str, Samples]
"""A sentence, and how it was spoken."""


@dataclass(slots=True)
class Heard:
    """What was heard of some sentences: characters wrong by listener, and naturalness."""

    characters: int = 0
    wrong: dict[str, int] = field(default_factory=dict)
    mos: list[float] = field(default_factory=list)
    pieces: list[dict[str, object]] = field(default_factory=list)

    def rate(self, listener: str) -> float:
        return self.wrong[listener] / self.characters

    @property
    def naturalness(self) -> float:
        return mean(self.mos) if self.mos else float("nan")


def listen(
    recorder: Recorder,
    evaluator: Worker,
    language: Language,
    voice: Voice,
    sentences: Sequence[str],
    folder: Path,
    *,
    listeners: Sequence[str] = ("base", "small"),
    judged: int = 0,
) -> Heard:
    """Speaks the sentences, and lets the listeners transcribe them; `judged` of them are judged for naturalness."""
    recordings = speak(recorder, language, voice, sentences)
    heard = transcribe(evaluator, language, voice, recordings, recorder.sample_rate, folder, listeners)
    for number, (_, samples) in enumerate(recordings[:judged]):
        path = write(folder / f"{language}-{voice.key}-{number:02}.wav", samples, recorder.sample_rate)
        heard.mos.append(evaluator.ask(path=str(path), measures=["mos"])["mos"])
    return heard


def speak(recorder: Recorder, language: Language, voice: Voice, sentences: Sequence[str]) -> list[Recording]:
    return [(text, recorder.synthesize(SynthesisRequest(text, voice, language=language))) for text in sentences]


def transcribe(
    evaluator: Worker,
    language: Language,
    voice: Voice,
    recordings: Sequence[Recording],
    rate: int,
    folder: Path,
    listeners: Sequence[str],
) -> Heard:
    """What the listeners hear of recordings of the voice."""
    heard = Heard(wrong=dict.fromkeys(listeners, 0))
    for number, piece in enumerate(join_pieces(recordings, rate)):
        text = " ".join(sentence for sentence, _ in piece)
        path = write(folder / f"{language}-{voice.key}-piece-{number}.wav", join(piece, rate), rate)
        answer = evaluator.ask(
            path=str(path),
            measures=["heard"],
            language=_WHISPER_CODES.get(language, language.code),
            listeners=list(listeners),
        )
        reference = spell(text, language)
        heard.characters += len(reference)
        for listener, transcript in answer["heard"].items():
            heard.wrong[listener] += count_wrong(reference, spell(transcript, language))
        heard.pieces.append({"voice": voice.key, "text": text, **answer["heard"]})
    return heard


def join_pieces(recordings: Sequence[Recording], rate: int) -> Iterator[list[Recording]]:
    """Recordings that one window of Whisper holds."""
    piece: list[Recording] = []
    seconds = 0.0
    for recording in recordings:
        length = len(recording[1]) / rate + _GAP
        if piece and seconds + length > _LONGEST_PIECE:
            yield piece
            piece, seconds = [], 0.0
        piece.append(recording)
        seconds += length
    if piece:
        yield piece


def join(piece: Sequence[Recording], rate: int) -> Samples:
    gap = np.zeros(round(_GAP * rate), dtype=np.float32)
    joined: Samples = np.concatenate([part for _, samples in piece for part in (samples, gap)])
    return joined


def spell(text: str, language: Language) -> str:
    """Its letters, with numbers in words: "8" and "acht" are the same, and so are words that are joined or not."""
    spoken = "".join(span.spoken for span in normalise(text, language))
    plain = unicodedata.normalize("NFKC", spoken).lower().translate(_PLAIN_LETTERS.get(language, {}))
    letters = re.sub(r"[\W_]", "", plain)
    for pattern, sound in _SAME_SOUNDS.get(language, ()):
        letters = pattern.sub(sound, letters)
    return letters


def count_wrong(reference: str, transcript: str) -> int:
    result = jiwer.process_characters(reference, transcript or "-")
    # A listener that repeats itself without end is wrong everywhere, but not more than that.
    return min(result.substitutions + result.deletions + result.insertions, len(reference))


def write(path: Path, samples: Samples, rate: int) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", "NONE"))
        file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return path
