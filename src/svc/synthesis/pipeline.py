"""The one way from text to audio.

Frontend        text → phrases of phonemes
Engine          phonemes → samples with phoneme times
Synthesizer     equalizes, watermarks, adds pauses, and says which words each chunk holds
AlignedEncoder  samples → bytes of the output format, with the times of the caller's characters
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial

import numpy as np

from svc.audio import encoders
from svc.audio.equalizer import Equalizer
from svc.audio.formats import OutputFormat
from svc.audio.time_stretch import stretch
from svc.audio.watermark import embed_watermark
from svc.engine.protocol import Chunk, Engine, Samples, Utterance
from svc.errors import AudioTooLong
from svc.synthesis.alignment import AlignedWords, Aligner, Alignment, align
from svc.synthesis.request import AudioPart, Clip, Dialogue, Parts, SpeechChunk, SynthesisRequest, VoiceSegment
from svc.text import markup
from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.text.phrases import Phrase

# A text without a single word, such as "🙂", still gets audio that a player accepts.
_EMPTY_SECONDS = 0.3


class Pipeline:
    """Text in, audio out. Each step of an iterator is one bounded piece of work in the caller's thread."""

    def __init__(
        self, engine: Engine, phonemizer: Phonemizer, watermark: bool = False, max_seconds: float = math.inf
    ) -> None:
        """With `watermark`, the speech of custom voices carries one. A text gets at most `max_seconds` of audio."""
        self._engine = engine
        self._max_seconds = max_seconds
        self._phonemizer = phonemizer
        self._watermark = watermark
        self.sample_rate = engine.sample_rate

    @property
    def engine_name(self) -> str:
        return self._engine.name

    @property
    def engine_fingerprint(self) -> str:
        """The engine's name and weights; known once they are loaded."""
        return f"{self._engine.name}{self._engine.fingerprint}"

    def load(self) -> None:
        self._engine.load()
        self._phonemizer.warm(Language.ENGLISH_US)

    def synthesize(self, request: SynthesisRequest, start_seconds: float = 0.0) -> Iterator[SpeechChunk]:
        """The speech of a text, chunk by chunk; it begins at `start_seconds` of the audio."""
        synthesizer = self.create_synthesizer(request, start_seconds)
        phrases = self.create_frontend(request).read(request.text, request.previous_text, request.next_text)
        yield from synthesizer.synthesize(phrases)
        if synthesizer.seconds == start_seconds:
            silence = _silence(_EMPTY_SECONDS, self.sample_rate)
            yield SpeechChunk(silence, AlignedWords(), start_seconds + _EMPTY_SECONDS)

    def stream(self, request: SynthesisRequest | Dialogue, output_format: OutputFormat) -> Parts:
        """The encoded speech of a text or a dialogue, part by part as it is made."""
        with closing(self.create_encoder(output_format)) as encoder:
            yield from self._encode(request, encoder)
            yield encoder.flush()

    def render(self, request: SynthesisRequest | Dialogue, output_format: OutputFormat, clip: Clip) -> Parts:
        """Joins the stream into one file; the parts only tell how many seconds were added to the clip."""
        with closing(self.create_encoder(output_format)) as encoder:
            for part in self._encode(request, encoder):
                clip.add(part)
                yield AudioPart(seconds=part.seconds)
            encoder.finish(clip)
            yield AudioPart()

    def _encode(self, request: SynthesisRequest | Dialogue, encoder: "AlignedEncoder") -> Parts:
        """The turns one after the other, as one stream."""
        previous: SynthesisRequest | None = None
        for turn in request.turns:
            if previous:
                encoder.begin_turn(turn.pause_after(previous))
            encoder.add_text(turn.text)
            for chunk in self.synthesize(turn, encoder.seconds):
                yield encoder.encode(chunk)
                if encoder.seconds > self._max_seconds:
                    raise AudioTooLong(None, self._max_seconds)
            previous = turn

    def require_allowed_length(self, *texts: str) -> None:
        """Raises `AudioTooLong` for texts whose breaks alone are longer than the audio of a request may be."""
        tags = sum(text.count("<") for text in texts)
        if tags * markup.LONGEST_BREAK_SECONDS > self._max_seconds:  # only then it is worth to parse them
            seconds = sum(each.seconds for text in texts for each in markup.parse(text).breaks)
            if seconds > self._max_seconds:
                raise AudioTooLong(seconds, self._max_seconds)

    def create_frontend(self, request: SynthesisRequest, schedule: Sequence[int] = ()) -> Frontend:
        return Frontend(self._phonemizer, request.voice.language, request.language, schedule, request.rules)

    def create_synthesizer(self, request: SynthesisRequest, start_seconds: float = 0.0) -> "Synthesizer":
        watermarked = self._watermark and bool(request.voice.custom_parts)
        return Synthesizer(self._engine, request, watermarked, self._max_seconds, start_seconds)

    def create_encoder(self, output_format: OutputFormat) -> "AlignedEncoder":
        return AlignedEncoder(output_format, self.sample_rate)


class Synthesizer:
    """Speaks phrases with one voice and its settings, and counts the seconds."""

    def __init__(
        self,
        engine: Engine,
        request: SynthesisRequest,
        watermarked: bool,
        max_seconds: float,
        start_seconds: float = 0.0,
    ) -> None:
        voice, settings = request.voice, request.settings
        self._max_seconds = max_seconds
        self._engine = engine
        self._watermarked = watermarked
        self._delivery = settings.delivery(request.seed)
        self._tempo = settings.tempo
        # These differ between languages, and are the same for all phrases of one.
        self._style_table = cache(partial(settings.style_table, voice))
        self._layer_offsets = cache(partial(settings.layer_offsets, voice))
        self._pitch_scale = voice.pitch_scale_in
        self._vocoder_embedding = settings.vocoder_embedding(voice)
        gains = settings.equalizer_gains(voice)
        self._equalizer = Equalizer(gains, engine.sample_rate) if gains.any() else None
        self.seconds = start_seconds

    def synthesize(self, phrases: Iterable[Phrase]) -> Iterator[SpeechChunk]:
        """Raises `AudioTooLong` when these phrases become too long."""
        first = self.seconds
        for phrase in phrases:
            start = self.seconds
            for chunk in self._synthesize(phrase):
                samples = self._post_process(chunk.samples)
                self.seconds += len(samples) / self._engine.sample_rate
                if self.seconds - first > self._max_seconds:
                    raise AudioTooLong(None, self._max_seconds)
                yield SpeechChunk(samples, align(phrase, chunk.timings, start), self.seconds)

    def _synthesize(self, phrase: Phrase) -> Iterator[Chunk]:
        if phrase.words:
            chunks = self._engine.synthesize(
                Utterance(
                    phrase.phonemes,
                    self._style_table(phrase.language),
                    self._delivery,
                    phrase.before,
                    phrase.after,
                    self._layer_offsets(phrase.language),
                    self._pitch_scale(phrase.language),
                    self._vocoder_embedding,
                )
            )
            yield from stretch(chunks, self._tempo, self._engine.sample_rate)
        if phrase.pause:
            yield Chunk(_silence(phrase.pause, self._engine.sample_rate))

    def _post_process(self, samples: Samples) -> Samples:
        if self._equalizer:
            samples = self._equalizer(samples)
        if self._watermarked:
            samples = embed_watermark(samples, round(self.seconds * self._engine.sample_rate))
        return samples


class AlignedEncoder:
    """Encodes speech to an output format, with the times of the caller's characters, turn by turn of a dialogue."""

    def __init__(self, output_format: OutputFormat, sample_rate: int) -> None:
        self._encoder = encoders.create(output_format, sample_rate)
        self._sample_rate = sample_rate
        self._aligner = Aligner()
        self._turn = 0
        self._characters = 0  # that have been aligned, over all turns
        self._pending = AudioPart()  # characters of the turn before that were not spoken
        self._silence = np.zeros(0, dtype=np.float32)  # before the next chunk
        self.seconds = 0.0
        """Where the next chunk begins."""

    def begin_turn(self, pause: float) -> None:
        """What follows is another text, after a pause."""
        self._pending = self._describe(b"", self._aligner.align_rest(self.seconds), Alignment(), self.seconds)
        self._turn += 1
        self._silence = np.concatenate([self._silence, _silence(pause, self._sample_rate)])
        self.seconds += pause
        self._aligner = Aligner(self.seconds)

    def add_text(self, text: str) -> None:
        """Adds to the caller's text, whose characters the following chunks are aligned with."""
        self._aligner.add_text(text)

    def encode(self, chunk: SpeechChunk) -> AudioPart:
        start, silence = self._take_silence()
        audio = self._encoder.encode(np.concatenate([silence, chunk.samples]))
        self.seconds = chunk.end_seconds
        original = self._aligner.align_original(chunk.aligned, chunk.end_seconds)
        normalized = self._aligner.align_normalized(chunk.aligned, chunk.end_seconds)
        return self._describe(audio, original, normalized, start)

    def flush(self) -> AudioPart:
        """What the encoder still held back, and the characters after the last word."""
        start, silence = self._take_silence()
        audio = self._encoder.encode(silence) + self._encoder.flush()
        return self._describe(audio, self._aligner.align_rest(self.seconds), Alignment(), start)

    def _take_silence(self) -> tuple[float, Samples]:
        """The pause before the next chunk, and where it begins."""
        silence, self._silence = self._silence, self._silence[:0]
        return self.seconds - len(silence) / self._sample_rate, silence

    def _describe(self, audio: bytes, original: Alignment, normalized: Alignment, start: float) -> AudioPart:
        """A part, with the voice segment of its characters; it begins with what is pending."""
        segments: tuple[VoiceSegment, ...] = ()
        if original.characters:
            first, self._characters = self._characters, self._characters + len(original.characters)
            times = original.starts[0], original.ends[-1]
            segments = (VoiceSegment(self._turn, *times, first, self._characters),)
        part = AudioPart(audio, original, normalized, self.seconds - start, start, segments)
        if not self._pending.segments:
            return part
        pending, self._pending = self._pending, AudioPart()
        return AudioPart.join([pending, part])

    def finish(self, clip: Clip) -> None:
        """Completes a clip, also with the lengths that only a whole file can state at its beginning."""
        clip.add(self.flush())
        clip.pieces[:1] = [self._encoder.seal(clip.pieces[0], clip.length)]

    def close(self) -> None:
        """Frees the encoder at once, also when the stream was abandoned half-way."""
        self._encoder.close()


def _silence(seconds: float, sample_rate: int) -> Samples:
    return np.zeros(round(seconds * sample_rate), dtype=np.float32)
