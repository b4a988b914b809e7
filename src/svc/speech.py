"""The one way from text to sound: every endpoint, every socket and the command line speak through it."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from svc.audio import encoders
from svc.audio.formats import OutputFormat
from svc.delivery import VoiceSettings
from svc.engine.protocol import Chunk, Engine, Utterance
from svc.text.language import Language
from svc.text.narrator import Narrator
from svc.text.phonemes import Phonemizer
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


class Speech:
    """Text in, sound out. Each step of an iterator is one bounded piece of work, done in the caller's thread."""

    def __init__(self, engine: Engine, phonemizer: Phonemizer) -> None:
        self._engine = engine
        self.sample_rate = engine.sample_rate
        self._phonemizer = phonemizer

    def load(self) -> None:
        self._engine.load()
        self._phonemizer.warm(Language.ENGLISH_US)

    def speak(self, request: SpeechRequest) -> Iterator[Chunk]:
        """The sound of a text, chunk by chunk."""
        narrator = Narrator(self._phonemizer, request.voice.language, request.language)
        style = request.settings.voiced(request.voice)
        delivery = request.settings.delivery(request.seed)
        silent = True
        for phrase in narrator.read(request.text, request.previous_text, request.next_text):
            if phrase.words:
                utterance = Utterance(phrase.phonemes, style, delivery, phrase.before, phrase.after)
                yield from self._engine.synthesize(utterance)
            if phrase.pause:
                yield self._silence(phrase.pause)
            silent = False
        if silent:
            yield self._silence(_NOTHING_TO_SAY)

    def _silence(self, seconds: float) -> Chunk:
        return Chunk(np.zeros(round(seconds * self.sample_rate), dtype=np.float32))


def stream(chunks: Iterator[Chunk], output_format: OutputFormat, sample_rate: int) -> Generator[bytes]:
    """The sound in the format asked for, as it is made."""
    with encoders.create(output_format, sample_rate) as encoder:
        for chunk in chunks:
            yield encoder.encode(chunk.samples)
        yield encoder.flush()


def clip(chunks: Iterator[Chunk], output_format: OutputFormat, sample_rate: int) -> Generator[bytes]:
    """The stream, joined, with the lengths that only a whole file can tell: the last step gives it all."""
    with encoders.create(output_format, sample_rate) as encoder:
        parts = []
        for chunk in chunks:
            parts.append(encoder.encode(chunk.samples))
            yield b""
        parts.append(encoder.flush())
        yield encoder.seal(b"".join(parts))
