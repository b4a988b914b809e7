"""The one way from text to audio.

Frontend        text → phrases of phonemes
Engine          phonemes → samples with phoneme times
Speaker         what a voice, its settings and the markup ask of the engine; the equalizer, the loudness
Synthesizer     watermarks, adds pauses, and says which words each chunk holds
AlignedEncoder  samples → bytes of the output format, with the times of the caller's characters
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

import numpy as np

from svc.audio import encoders
from svc.audio.formats import OutputFormat
from svc.audio.samples import Samples
from svc.audio.watermark import embed_watermark
from svc.engine.protocol import Chunk, Engine
from svc.errors import AudioTooLong
from svc.synthesis.alignment import Aligner, Alignment
from svc.synthesis.request import AudioPart, Clip, Dialogue, Parts, Reading, SpeechChunk, SynthesisRequest, VoiceSegment
from svc.synthesis.speaker import FindVoice, NoteLanguage, Speaker
from svc.synthesis.time_stretch import stretch
from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup import parser as markup
from svc.text.markup.elements import LONGEST_BREAK_SECONDS
from svc.text.markup.parser import MarkupParser
from svc.text.sentences.phrases import Phrase, Pronounce, pronounce

# A text without a single word, such as "🙂", still gets audio that a player accepts.
_EMPTY_SECONDS = 0.3

_UNKNOWN = Reading()

# A longer pause is made in several steps.
_LONGEST_SILENCE_SECONDS = 10.0

_FADE_SAMPLES = 96  # 4 ms
_FADE_IN = np.linspace(0, 1, _FADE_SAMPLES, dtype=np.float32)


class Pipeline:
    """Text in, audio out. Each step of an iterator is one bounded piece of work in the caller's thread.

    A step may only read: then its part, or its chunk, is empty.
    """

    def __init__(
        self,
        engine: Engine,
        phonemizer: Phonemizer,
        watermark: bool = False,
        max_seconds: float = math.inf,
        pronounce_elsewhere: Pronounce | None = None,
    ) -> None:
        """With `watermark`, the speech of custom voices carries one. A text gets at most `max_seconds` of audio.

        With `pronounce_elsewhere`, the phonemizer is not needed, and so not loaded.
        """
        self._engine = engine
        self._max_seconds = max_seconds
        self._phonemizer = phonemizer
        self._pronounce_elsewhere = pronounce_elsewhere
        self._watermark = watermark
        self.sample_rate = engine.sample_rate
        self.find_voice: FindVoice = lambda name: None
        """Finds the voices that markup names; the application sets it once the catalogue is there."""
        self.note_language: NoteLanguage = lambda voice, language: None
        """Is told which languages a voice speaks."""

    @property
    def engine_name(self) -> str:
        return self._engine.name

    @property
    def engine_fingerprint(self) -> str:
        """The engine's name and weights; known once they are loaded."""
        return f"{self._engine.name}{self._engine.fingerprint}"

    def load(self) -> None:
        self._engine.load()
        if not self._pronounce_elsewhere:
            self._phonemizer.warm(Language.ENGLISH_US)

    def synthesize(self, request: SynthesisRequest, start_seconds: float = 0.0) -> Iterator[SpeechChunk]:
        """The speech of a text, chunk by chunk; it begins at `start_seconds` of the audio."""
        synthesizer = self.create_synthesizer(request, start_seconds)
        phrases = self.create_frontend(request).read(request.text, request.previous_text, request.next_text)
        yield from synthesizer.synthesize(phrases)
        if synthesizer.seconds == start_seconds:
            silence = _silence(_EMPTY_SECONDS, self.sample_rate)
            yield SpeechChunk(silence, start_seconds + _EMPTY_SECONDS)

    def stream(
        self, request: SynthesisRequest | Dialogue, output_format: OutputFormat, *, timestamps: bool = False
    ) -> Parts:
        """The encoded speech of a text or a dialogue, part by part as it is made."""
        with closing(self.create_encoder(output_format, timestamps=timestamps)) as encoder:
            yield from self._encode(request, encoder)
            rest = encoder.flush()
            if rest.audio or rest.alignment.characters:
                yield rest

    def render(
        self, request: SynthesisRequest | Dialogue, output_format: OutputFormat, clip: Clip, *, timestamps: bool = False
    ) -> Parts:
        """Joins the stream into one file; the parts only tell how many seconds were added to the clip."""
        with closing(self.create_encoder(output_format, whole=True, timestamps=timestamps)) as encoder:
            for part in self._encode(request, encoder):
                clip.add(part)
                yield AudioPart(seconds=part.seconds)
            encoder.finish(clip)
            yield AudioPart()

    def _encode(self, request: SynthesisRequest | Dialogue, encoder: "AlignedEncoder") -> Parts:
        """The turns one after the other, as one stream."""
        yield from self._require_allowed_length([turn.text for turn in request.turns])
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

    def _require_allowed_length(self, texts: Sequence[str]) -> Parts:
        """Raises `AudioTooLong` for texts whose breaks alone are longer than the audio of a request may be."""
        tags = sum(len(markup.MARKUP.findall(text)) for text in texts)
        if tags * LONGEST_BREAK_SECONDS <= self._max_seconds:  # it is not worth to parse them twice
            return
        seconds = 0.0
        for text in texts:
            for parsed in MarkupParser().feed(text, whole=True):
                seconds += sum(each.seconds for each in parsed.breaks)
                yield AudioPart()
        if seconds > self._max_seconds:
            raise AudioTooLong(seconds, self._max_seconds)

    def create_frontend(self, request: SynthesisRequest, schedule: Sequence[int] = ()) -> Frontend:
        def find_language(name: str) -> Language | None:
            voice = self.find_voice(name)
            return voice.language if voice else None

        pronouncing = self._pronounce_elsewhere or partial(pronounce, self._phonemizer)
        return Frontend(pronouncing, request.voice.language, request.language, schedule, find_language, request.rules)

    def create_synthesizer(self, request: SynthesisRequest, start_seconds: float = 0.0) -> "Synthesizer":
        return Synthesizer(
            self._engine,
            request,
            self.find_voice,
            self.note_language,
            self._watermark,
            self._max_seconds,
            start_seconds,
        )

    def create_encoder(
        self, output_format: OutputFormat, *, whole: bool = False, timestamps: bool = True
    ) -> "AlignedEncoder":
        return AlignedEncoder(output_format, self.sample_rate, whole=whole, timestamps=timestamps)


class Synthesizer:
    """Speaks phrases as their manner asks for, and counts the seconds."""

    def __init__(
        self,
        engine: Engine,
        request: SynthesisRequest,
        find_voice: FindVoice,
        note_language: NoteLanguage,
        watermark: bool,
        max_seconds: float,
        start_seconds: float = 0.0,
    ) -> None:
        """With `watermark`, the speech of custom voices carries one."""
        self._max_seconds = max_seconds
        self._engine = engine
        self._find_voice = find_voice
        self._note_language = note_language
        self._watermark = watermark
        self._request = request
        self._speakers: dict[str, Speaker] = {}
        self.seconds = start_seconds

    def synthesize(self, phrases: Iterable[Phrase]) -> Iterator[SpeechChunk]:
        """Raises `AudioTooLong` when these phrases become too long."""
        first = self.seconds
        for phrase in phrases:
            start = self.seconds
            speaker = self._find_speaker(phrase.manner.voice)
            for chunk, aligned in self._synthesize(phrase, speaker):
                samples = speaker.post_process(_fade(chunk, phrase), phrase)
                if self._watermark and speaker.voice.custom_parts:
                    samples = embed_watermark(samples, round(self.seconds * self._engine.sample_rate))
                self.seconds += len(samples) / self._engine.sample_rate
                if self.seconds - first > self._max_seconds:
                    raise AudioTooLong(None, self._max_seconds)
                yield SpeechChunk(samples, self.seconds, aligned, chunk.timings, start)
            if not (phrase.words or phrase.pause):
                yield SpeechChunk(_silence(0, self._engine.sample_rate), self.seconds, phrase)

    def _synthesize(self, phrase: Phrase, speaker: "Speaker") -> Iterator[tuple[Chunk, Phrase | None]]:
        """Chunks, each with the phrase; of a long pause, the last one has the characters after the last word."""
        sample_rate = self._engine.sample_rate
        if phrase.words:
            chunks = self._engine.synthesize(speaker.make_utterance(phrase))
            for chunk in stretch(chunks, speaker.find_tempo(phrase.manner.prosody), sample_rate):
                yield chunk, phrase
        pause = phrase.pause
        while pause > _LONGEST_SILENCE_SECONDS:
            yield Chunk(_silence(_LONGEST_SILENCE_SECONDS, sample_rate)), None
            pause -= _LONGEST_SILENCE_SECONDS
        if pause:
            yield Chunk(_silence(pause, sample_rate)), phrase

    def _find_speaker(self, name: str) -> "Speaker":
        """The speaker of the request, or another one that markup names and that exists."""
        if name not in self._speakers:
            voice = (self._find_voice(name) if name else None) or self._request.voice
            self._speakers[name] = Speaker(voice, self._request, self._engine.sample_rate, self._note_language)
        return self._speakers[name]


class AlignedEncoder:
    """Encodes speech to an output format, with the times of the caller's characters, turn by turn of a dialogue.

    A character goes with the audio in which it begins to be heard: resampling and codecs hold back some tens of
    milliseconds, and no time lies beyond the audio that was given out. For a `whole` clip that does not matter.
    Without `timestamps` there are no characters: to give them times takes as long as to encode the audio.
    """

    def __init__(
        self, output_format: OutputFormat, sample_rate: int, *, whole: bool = False, timestamps: bool = True
    ) -> None:
        self._timestamps = timestamps
        self._encoder = encoders.create(output_format, sample_rate)
        self._sample_rate = sample_rate
        self._bit_rate = None if whole else output_format.constant_bit_rate
        self._aligner = Aligner()
        self._silence = np.zeros(0, dtype=np.float32)  # before the next chunk
        self.seconds = 0.0
        """Where the next chunk begins."""
        self._told_seconds = 0.0  # of the parts so far
        self._bytes = 0
        self._encoded_seconds = 0.0
        self._original = Alignment()  # characters whose audio is still in the encoder
        self._normalized = Alignment()
        self._characters = 0  # that went out, over all turns
        self._turn_ends: list[int] = []  # the characters up to the end of each turn that is over

    def begin_turn(self, pause: float) -> None:
        """What follows is another text, after a pause."""
        self._original.extend(self._aligner.align_rest(self.seconds))
        self._turn_ends.append(self._characters + len(self._original.characters))
        self._silence = np.concatenate([self._silence, _silence(pause, self._sample_rate)])
        self.seconds += pause
        self._aligner = Aligner(self.seconds)

    def add_text(self, text: str) -> None:
        """Adds to the caller's text, whose characters the following chunks are aligned with."""
        if self._timestamps:
            self._aligner.add_text(text)

    def encode(self, chunk: SpeechChunk) -> AudioPart:
        if not len(chunk.samples):
            return AudioPart(start=self._encoded_seconds, end=self._encoded_seconds, reading=chunk.reading)
        audio = self._encoder.encode(self._take_silence(chunk.samples))
        self.seconds = chunk.end_seconds
        if self._timestamps:
            aligned = chunk.aligned
            self._original.extend(self._aligner.align_original(aligned, chunk.end_seconds))
            self._normalized.extend(self._aligner.align_normalized(aligned, chunk.end_seconds))
        self._bytes += len(audio)
        return self._make_part(audio, self._measure(), chunk.reading)

    def flush(self) -> AudioPart:
        """What the encoder still held back, and the characters after the last word."""
        audio = self._encoder.encode(self._take_silence()) + self._encoder.flush()
        self._original.extend(self._aligner.align_rest(self.seconds))
        return self._make_part(audio, self.seconds)

    def _take_silence(self, samples: Samples | None = None) -> Samples:
        """The samples after the pause that precedes them."""
        silence, self._silence = self._silence, self._silence[:0]
        if samples is None:
            return silence
        return np.concatenate([silence, samples]) if len(silence) else samples

    def _measure(self) -> float:
        """The seconds of all audio up to here."""
        return self.seconds if self._bit_rate is None else min(8 * self._bytes / self._bit_rate, self.seconds)

    def _make_part(self, audio: bytes, end: float, reading: Reading = _UNKNOWN) -> AudioPart:
        """The audio up to `end`, with the characters that begin to be heard before that."""
        start, self._encoded_seconds = self._encoded_seconds, end
        seconds, self._told_seconds = self.seconds - self._told_seconds, self.seconds
        if end < self.seconds:
            original, self._original = self._original.split(end)
            normalized, self._normalized = self._normalized.split(end)
        else:
            original, self._original = self._original, Alignment()
            normalized, self._normalized = self._normalized, Alignment()
        segments = tuple(self._find_segments(original))
        return AudioPart(audio, original, normalized, seconds, start, end, segments, reading)

    def _find_segments(self, original: Alignment) -> Iterator[VoiceSegment]:
        """The turns, or parts of turns, that these characters are."""
        first = self._characters
        self._characters += len(original.characters)
        position = first
        while position < self._characters:
            turn = bisect_right(self._turn_ends, position)
            end = min([*self._turn_ends[turn : turn + 1], self._characters])
            times = original.starts[position - first], original.ends[end - 1 - first]
            yield VoiceSegment(turn, *times, position, end)
            position = end

    def finish(self, clip: Clip) -> None:
        """Completes a clip, also with the lengths that only a whole file can state at its beginning."""
        clip.add(self.flush())
        clip.pieces[:1] = [self._encoder.seal(clip.pieces[0], clip.length)]

    def close(self) -> None:
        """Frees the encoder at once, also when the stream was abandoned half-way."""
        self._encoder.close()


def _fade(chunk: Chunk, phrase: Phrase) -> Samples:
    """The samples of a chunk, faded where the phrase was cut out of running speech: a step would click."""
    samples, timings = chunk.samples, chunk.timings
    if phrase.before and timings and timings[0].phoneme == 0:
        samples = np.concatenate([samples[:_FADE_SAMPLES] * _FADE_IN[: len(samples)], samples[_FADE_SAMPLES:]])
    if phrase.after and timings and timings[-1].phoneme == len(phrase.phonemes) - 1:
        samples = np.concatenate([samples[:-_FADE_SAMPLES], samples[-_FADE_SAMPLES:] * _FADE_IN[: len(samples)][::-1]])
    return samples


def _silence(seconds: float, sample_rate: int) -> Samples:
    return np.zeros(round(seconds * sample_rate), dtype=np.float32)
