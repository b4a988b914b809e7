"""The one way from text to sound: every endpoint, every socket and the command line speak through it."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from svc.alignment import Aligner, Alignment, TimedWord, timed_words
from svc.audio import encoders
from svc.audio.encoders import Encoder
from svc.audio.formats import OutputFormat
from svc.delivery import VoiceSettings
from svc.engine.protocol import Chunk, Delivery, Engine, Samples, StyleTable, Utterance
from svc.text.language import Language
from svc.text.narrator import Narrator
from svc.text.phonemes import Phonemizer
from svc.text.phrase import Phrase
from svc.voices import Voice

# A text without a single word, such as "🙂", still gets an answer that a player accepts.
_NOTHING_TO_SAY = 0.3


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    text: str
    voice: Voice
    settings: VoiceSettings = field(default_factory=VoiceSettings)
    language: Language | None = None
    seed: int | None = None
    previous_text: str = ""
    next_text: str = ""


@dataclass(frozen=True, slots=True)
class SpokenChunk:
    """Sound, the words in it, and how many seconds of speech there are up to its end."""

    samples: Samples
    words: tuple[TimedWord, ...]
    until: float


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Encoded sound, and the characters that are heard in it: the caller's own, and those that were read."""

    audio: bytes = b""
    alignment: Alignment = field(default_factory=Alignment)
    normalized: Alignment = field(default_factory=Alignment)


Parts = Generator[AudioPart]


class Speech:
    """Text in, sound out. Each step of an iterator is one bounded piece of work, done in the caller's thread."""

    def __init__(self, engine: Engine, phonemizer: Phonemizer) -> None:
        self._engine = engine
        self.sample_rate = engine.sample_rate
        self.engine_name = engine.name
        self._phonemizer = phonemizer

    def load(self) -> None:
        self._engine.load()
        self._phonemizer.warm(Language.ENGLISH_US)

    def speak(self, request: SpeechRequest) -> Iterator[SpokenChunk]:
        """The sound of a text, chunk by chunk."""
        narrator = Narrator(self._phonemizer, request.voice.language, request.language)
        style = request.settings.voiced(request.voice)
        delivery = request.settings.delivery(request.seed)
        seconds = 0.0
        for phrase in narrator.read(request.text, request.previous_text, request.next_text):
            began = seconds
            for chunk in self._sound(phrase, style, delivery):
                seconds += len(chunk.samples) / self.sample_rate
                yield SpokenChunk(chunk.samples, timed_words(phrase, chunk.timings, began), seconds)
        if not seconds:
            yield SpokenChunk(self._silence(_NOTHING_TO_SAY), (), _NOTHING_TO_SAY)

    def _sound(self, phrase: Phrase, style: StyleTable, delivery: Delivery) -> Iterator[Chunk]:
        if phrase.words:
            utterance = Utterance(phrase.phonemes, style, delivery, phrase.before, phrase.after)
            yield from self._engine.synthesize(utterance)
        if phrase.pause:
            yield Chunk(self._silence(phrase.pause))

    def _silence(self, seconds: float) -> Samples:
        return np.zeros(round(seconds * self.sample_rate), dtype=np.float32)


def stream(chunks: Iterable[SpokenChunk], output_format: OutputFormat, sample_rate: int, text: str) -> Parts:
    """The sound of a text in the format asked for, as it is made."""
    with encoders.create(output_format, sample_rate) as encoder:
        yield from _encoded(chunks, encoder, text)


def clip(chunks: Iterable[SpokenChunk], output_format: OutputFormat, sample_rate: int, text: str) -> Parts:
    """The stream, joined, with the lengths that only a whole file can tell: the last part holds it all."""
    with encoders.create(output_format, sample_rate) as encoder:
        parts = []
        for part in _encoded(chunks, encoder, text):
            parts.append(part)
            yield AudioPart()
        yield AudioPart(
            encoder.seal(b"".join(part.audio for part in parts)),
            Alignment.joined(part.alignment for part in parts),
            Alignment.joined(part.normalized for part in parts),
        )


def _encoded(chunks: Iterable[SpokenChunk], encoder: Encoder, text: str) -> Parts:
    aligner, until = Aligner(text), 0.0
    for chunk in chunks:
        until = chunk.until
        audio = encoder.encode(chunk.samples)
        yield AudioPart(audio, aligner.original(chunk.words), aligner.normalized(chunk.words))
    yield AudioPart(encoder.flush(), aligner.rest(until))
