"""The one way from text to sound: every endpoint, every socket and the command line speak through it."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from svc.audio import encoders
from svc.audio.equalizer import Equalizer
from svc.audio.formats import OutputFormat
from svc.audio.watermark import embed_watermark
from svc.engine.protocol import Chunk, Engine, Samples, Utterance
from svc.synthesis.alignment import Aligner, Alignment, Progress, progress
from svc.synthesis.turns import PlaybackClock
from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.text.phrase import Phrase
from svc.voices.catalogue import Voice
from svc.voices.settings import VoiceSettings

# A text without a single word, such as "🙂", still gets an answer that a player accepts.
_NOTHING_TO_SAY = 0.3


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    text: str
    voice: Voice
    settings: VoiceSettings = field(default_factory=VoiceSettings)
    language: Language | None = None
    seed: int | None = None
    previous_text: str = ""
    next_text: str = ""


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """Sound, what is heard in it, and how many seconds of speech there are up to its end."""

    samples: Samples
    aligned: Progress
    end_seconds: float


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Encoded sound of so many seconds, and the characters heard in it: the caller's own, and those that were read."""

    audio: bytes = b""
    alignment: Alignment = field(default_factory=Alignment)
    normalized: Alignment = field(default_factory=Alignment)
    seconds: float = 0.0

    @classmethod
    def joined(cls, parts: Sequence["AudioPart"]) -> "AudioPart":
        return cls(
            b"".join(part.audio for part in parts),
            Alignment.joined(part.alignment for part in parts),
            Alignment.joined(part.normalized for part in parts),
            sum(part.seconds for part in parts),
        )

    def pieces(self, longest: int) -> Iterator["AudioPart"]:
        """The same in pieces of at most so many bytes of audio; the first one tells all characters."""
        yield replace(self, audio=self.audio[:longest])
        for start in range(longest, len(self.audio), longest):
            yield AudioPart(self.audio[start : start + longest])


Parts = Generator[AudioPart]


def playback_clock() -> PlaybackClock[AudioPart]:
    """Somebody who listens to the parts of a stream as they come."""
    return PlaybackClock(lambda part: part.seconds)


class Pipeline:
    """Text in, sound out. Each step of an iterator is one bounded piece of work, done in the caller's thread."""

    def __init__(self, engine: Engine, phonemizer: Phonemizer, watermark: bool = False) -> None:
        """With `watermark`, what cloned voices say carries one."""
        self._engine = engine
        self._watermark = watermark
        self.sample_rate = engine.sample_rate
        self.engine_name = engine.name
        self._phonemizer = phonemizer

    def load(self) -> None:
        self._engine.load()
        self._phonemizer.warm(Language.ENGLISH_US)

    def speak(self, request: SynthesisRequest) -> Iterator[SpeechChunk]:
        """The sound of a text, chunk by chunk."""
        speaker = self._speaker(request)
        phrases = self._frontend(request).read(request.text, request.previous_text, request.next_text)
        yield from speaker.speak(phrases)
        if not speaker.seconds:
            yield SpeechChunk(_silence(_NOTHING_TO_SAY, self.sample_rate), Progress(), _NOTHING_TO_SAY)

    def start_streaming(
        self, request: SynthesisRequest, output_format: OutputFormat, schedule: Sequence[int]
    ) -> "StreamingSynthesis":
        """For a text that is still being written: the request says how to speak it, and its own text is not read."""
        recording = AlignedEncoder(output_format, self.sample_rate)
        return StreamingSynthesis(self._frontend(request, schedule), self._speaker(request), recording)

    def _speaker(self, request: SynthesisRequest) -> "Synthesizer":
        return Synthesizer(self._engine, request, self._watermark and request.voice.custom is not None)

    def _frontend(self, request: SynthesisRequest, schedule: Sequence[int] = ()) -> Frontend:
        return Frontend(self._phonemizer, request.voice.language, request.language, schedule)


class Synthesizer:
    """A voice in one manner of speaking, that keeps the time."""

    def __init__(self, engine: Engine, request: SynthesisRequest, marked: bool) -> None:
        self._engine = engine
        self._marked = marked
        self._style = cache(partial(request.settings.style_table, request.voice))
        self._delivery = request.settings.delivery(request.seed)
        self._layers = cache(partial(request.settings.layer_offsets, request.voice))
        self._pitch_scale = request.voice.pitch_scale_in
        self._vocoder_embedding = request.settings.vocoder_embedding(request.voice)
        colour = request.settings.equalizer_gains(request.voice)
        self._filter = Equalizer(colour, engine.sample_rate) if colour.any() else None
        self.seconds = 0.0

    def speak(self, phrases: Iterable[Phrase]) -> Iterator[SpeechChunk]:
        for phrase in phrases:
            began = self.seconds
            for chunk in self._sound(phrase):
                samples = self._signed(self._filter(chunk.samples) if self._filter else chunk.samples)
                self.seconds += len(samples) / self._engine.sample_rate
                yield SpeechChunk(samples, progress(phrase, chunk.timings, began), self.seconds)

    def _signed(self, samples: Samples) -> Samples:
        return embed_watermark(samples, round(self.seconds * self._engine.sample_rate)) if self._marked else samples

    def _sound(self, phrase: Phrase) -> Iterator[Chunk]:
        if phrase.words:
            yield from self._engine.synthesize(
                Utterance(
                    phrase.phonemes,
                    self._style(phrase.language),
                    self._delivery,
                    phrase.before,
                    phrase.after,
                    self._layers(phrase.language),
                    self._pitch_scale(phrase.language),
                    self._vocoder_embedding,
                )
            )
        if phrase.pause:
            yield Chunk(_silence(phrase.pause, self._engine.sample_rate))


class AlignedEncoder:
    """Speech in the format asked for, with the times of the caller's characters."""

    def __init__(self, output_format: OutputFormat, sample_rate: int) -> None:
        self._encoder = encoders.create(output_format, sample_rate)
        self._aligner = Aligner()
        self._until = 0.0

    def read(self, text: str) -> None:
        """Adds to the text that is going to be heard."""
        self._aligner.read(text)

    def add(self, chunk: SpeechChunk) -> AudioPart:
        seconds, self._until = chunk.end_seconds - self._until, chunk.end_seconds
        return AudioPart(
            self._encoder.encode(chunk.samples),
            self._aligner.original(chunk.aligned, chunk.end_seconds),
            self._aligner.normalized(chunk.aligned, chunk.end_seconds),
            seconds,
        )

    def end(self) -> AudioPart:
        """What the encoder still held back, and the characters that nothing was heard of."""
        return AudioPart(self._encoder.flush(), self._aligner.rest(self._until))

    def seal(self, audio: bytes) -> bytes:
        """All of the audio, with the lengths that only a whole file can tell."""
        return self._encoder.seal(audio)

    def close(self) -> None:
        """Frees the encoder at once, also when the speech was abandoned half-way."""
        self._encoder.close()


class StreamingSynthesis:
    """Speech of a text that is still being written: it comes in any pieces, and is spoken phrase by phrase.

    The sound does not depend on how the text was cut into pieces, only on where it was flushed.
    """

    def __init__(self, frontend: Frontend, speaker: Synthesizer, recording: AlignedEncoder) -> None:
        self._frontend = frontend
        self._speaker = speaker
        self._recording = recording
        self._silent = AudioPart()  # characters whose sound is still in the encoder

    def say(self, text: str, complete: bool = False, flush: bool = False) -> Parts:
        """Adds to the text, whose last sentence may be `complete`, and gives the sound of what is certain.

        With `flush` it gives the sound of everything. Each part has sound.
        """
        self._recording.read(text)
        yield from self._parts(self._frontend.feed(text))
        if complete or flush:
            yield from self._parts(self._frontend.flush(pause=flush))

    def end(self) -> Parts:
        """The very last sound of what was said."""
        yield from self._audible(self._recording.end())

    def _parts(self, phrases: Iterable[Phrase]) -> Parts:
        for chunk in self._speaker.speak(phrases):
            yield from self._audible(self._recording.add(chunk))

    def _audible(self, part: AudioPart) -> Parts:
        """Nothing while there is no sound: the characters are told with the next that there is."""
        part = AudioPart.joined([self._silent, part])
        self._silent = AudioPart() if part.audio else part
        if part.audio:
            yield part


def stream(chunks: Iterable[SpeechChunk], output_format: OutputFormat, sample_rate: int, text: str) -> Parts:
    """The sound of a text in the format asked for, as it is made."""
    with closing(AlignedEncoder(output_format, sample_rate)) as recording:
        yield from _recorded(chunks, recording, text)


def clip(chunks: Iterable[SpeechChunk], output_format: OutputFormat, sample_rate: int, text: str) -> Parts:
    """The stream, joined, with the lengths that only a whole file can tell: the last part holds it all."""
    with closing(AlignedEncoder(output_format, sample_rate)) as recording:
        parts = []
        for part in _recorded(chunks, recording, text):
            parts.append(part)
            yield AudioPart()
        whole = AudioPart.joined(parts)
        yield replace(whole, audio=recording.seal(whole.audio))


def _recorded(chunks: Iterable[SpeechChunk], recording: AlignedEncoder, text: str) -> Parts:
    recording.read(text)
    for chunk in chunks:
        yield recording.add(chunk)
    yield recording.end()


def _silence(seconds: float, sample_rate: int) -> Samples:
    return np.zeros(round(seconds * sample_rate), dtype=np.float32)
