"""What goes into synthesis, and what comes out of it."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from svc.audio.samples import Samples
from svc.engine.protocol import Timing
from svc.synthesis.alignment import AlignedWords, Alignment, align
from svc.text.language.languages import Language
from svc.text.pronunciation_rules import Rules
from svc.text.sentences.phrases import Phrase, Reason
from svc.voices.catalogue import Voice
from svc.voices.settings import VoiceSettings

# Between two turns of a dialogue, if another voice speaks. The engine's sentences end with half a second of silence
# already, so that 0.6 to 0.7 s are heard.
TURN_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """A text, who speaks it, and how. `previous_text` and `next_text` shape the melody and are not heard."""

    text: str
    voice: Voice
    settings: VoiceSettings = field(default_factory=VoiceSettings)
    language: Language | None = None
    """The language to read in; None recognises it sentence by sentence."""
    seed: int | None = None
    previous_text: str = ""
    next_text: str = ""
    rules: Sequence[Rules] = ()
    """Those of the pronunciation dictionaries that the caller named."""

    @property
    def turns(self) -> Sequence["SynthesisRequest"]:
        """Itself: a dialogue with one turn."""
        return (self,)

    def pause_after(self, previous: "SynthesisRequest | None") -> float:
        """The silence between the turn before it and this one, in seconds."""
        return TURN_PAUSE_SECONDS if previous and previous.voice is not self.voice else 0.0

    def estimate_seconds(self, text: str | None = None) -> float:
        """About how long its audio will be, or that of another text that is spoken in the same way."""
        # English has 15 characters, each a byte, in a second; Chinese has 5, each three bytes.
        return len((self.text if text is None else text).encode()) / 15 / self.settings.clamp().speed


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Several texts, spoken one after the other by the same or by different voices, as one piece of audio."""

    turns: Sequence[SynthesisRequest]

    def in_context(self, previous_text: str, next_text: str) -> "Dialogue":
        """The same turns, each with the neighbouring texts of its own voice, which shape the melody at its ends."""
        turns = []
        for index, turn in enumerate(self.turns):
            before = self.turns[index - 1] if index else None
            after = self.turns[index + 1] if index + 1 < len(self.turns) else None
            turns.append(
                replace(
                    turn,
                    previous_text=previous_text
                    if before is None
                    else before.text
                    if before.voice is turn.voice
                    else "",
                    next_text=next_text if after is None else after.text if after.voice is turn.voice else "",
                )
            )
        return Dialogue(turns)

    @property
    def text(self) -> str:
        """All texts joined."""
        return "".join(turn.text for turn in self.turns)

    def estimate_seconds(self) -> float:
        return sum(turn.estimate_seconds() for turn in self.turns)


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """A piece of speech as samples, and the seconds of speech up to its end."""

    samples: Samples
    end_seconds: float
    phrase: Phrase | None = None
    """The phrase that it is a part of, which began at `phrase_start` seconds."""
    timings: tuple[Timing, ...] = ()
    phrase_start: float = 0.0

    @property
    def aligned(self) -> AlignedWords:
        """The words in it. They are looked for here, because most callers want no times."""
        return align(self.phrase, self.timings, self.phrase_start) if self.phrase else AlignedWords()

    @property
    def reading(self) -> "Reading":
        if self.phrase is None:
            return Reading()
        language = self.phrase.language if self.phrase.reason else None
        return Reading(language, self.phrase.reason, self.phrase.unread)


@dataclass(frozen=True, slots=True)
class VoiceSegment:
    """When a turn of a dialogue, or a part of it, is heard, and which of the caller's characters those are."""

    turn: int
    start_seconds: float
    end_seconds: float
    start: int
    """The first character, counted over all texts joined."""
    end: int
    """The character after the last one."""

    @staticmethod
    def split(
        segments: Sequence["VoiceSegment"], before: Alignment, after: Alignment
    ) -> tuple[tuple["VoiceSegment", ...], tuple["VoiceSegment", ...]]:
        """The segments of the characters `before`, and of those `after` them."""
        left, count = list[VoiceSegment](), len(before.characters)
        for index, each in enumerate(segments):
            if each.end - each.start > count:
                cut = each.start + count
                right = (replace(each, start=cut, start_seconds=after.starts[0]), *segments[index + 1 :])
                if count:
                    left.append(replace(each, end=cut, end_seconds=before.ends[-1]))
                return tuple(left), right
            left.append(each)
            count -= each.end - each.start
        return tuple(left), ()

    @classmethod
    def join(cls, parts: Iterable["VoiceSegment"]) -> list["VoiceSegment"]:
        """One segment for each turn."""
        joined: list[VoiceSegment] = []
        for part in parts:
            if joined and joined[-1].turn == part.turn:
                joined[-1] = replace(joined[-1], end_seconds=part.end_seconds, end=part.end)
            else:
                joined.append(part)
        return joined


@dataclass(frozen=True, slots=True)
class Reading:
    """In which language a text is read, and why, as the frontend decided for the first words; None without a word."""

    language: Language | None = None
    reason: Reason | None = None
    unread: frozenset[str] = frozenset()
    """The scripts in the text that nothing here reads."""

    @classmethod
    def join(cls, readings: Iterable["Reading"]) -> "Reading":
        whole = cls()
        for each in readings:
            first = whole if whole.language else each
            whole = cls(first.language, first.reason, whole.unread | each.unread)
        return whole


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Encoded audio and the characters heard in it: the caller's own, and the normalised ones that were read."""

    audio: bytes = b""
    alignment: Alignment = field(default_factory=Alignment)
    normalized: Alignment = field(default_factory=Alignment)
    seconds: float = 0.0
    """How much speech went into the encoder, which may hold back some."""
    start: float = 0.0
    """Where this audio begins, in seconds from the start of the speech."""
    end: float = 0.0
    """Where it ends."""
    segments: tuple[VoiceSegment, ...] = ()
    reading: Reading = Reading()

    @classmethod
    def join(cls, parts: Sequence["AudioPart"]) -> "AudioPart":
        return cls(
            b"".join(part.audio for part in parts),
            Alignment.join(part.alignment for part in parts),
            Alignment.join(part.normalized for part in parts),
            sum(part.seconds for part in parts),
            next((part.start for part in parts if part.end), 0.0),
            max((part.end for part in parts), default=0.0),
            tuple(VoiceSegment.join(segment for part in parts for segment in part.segments)),
            Reading.join(part.reading for part in parts),
        )

    def split(self, max_bytes: int) -> Iterator["AudioPart"]:
        """The same in pieces of at most `max_bytes` of audio, each with the characters that are heard in it."""
        alignment, normalized, start, segments = self.alignment, self.normalized, self.start, self.segments
        for first in range(0, len(self.audio) - max_bytes, max_bytes):
            end = self.start + (self.end - self.start) * (first + max_bytes) / len(self.audio)
            original, alignment = alignment.split(end)
            read, normalized = normalized.split(end)
            held, segments = VoiceSegment.split(segments, original, alignment)
            yield AudioPart(self.audio[first : first + max_bytes], original, read, end - start, start, end, held)
            start = end
        rest = (len(self.audio) - 1) // max_bytes * max_bytes if self.audio else 0
        yield AudioPart(self.audio[rest:], alignment, normalized, self.end - start, start, self.end, segments)


Parts = Generator[AudioPart]


@dataclass(slots=True)
class Clip:
    """A whole text as one file, held once: in the pieces in which it was encoded."""

    pieces: list[bytes] = field(default_factory=list)
    alignment: Alignment = field(default_factory=Alignment)
    normalized: Alignment = field(default_factory=Alignment)
    segments: list[VoiceSegment] = field(default_factory=list)
    reading: Reading = Reading()

    def add(self, part: AudioPart) -> None:
        if part.audio:
            self.pieces.append(part.audio)
        self.alignment.extend(part.alignment)
        self.normalized.extend(part.normalized)
        self.reading = Reading.join((self.reading, part.reading))
        self.segments[-1:] = VoiceSegment.join([*self.segments[-1:], *part.segments])

    @property
    def length(self) -> int:
        """In bytes."""
        return sum(len(piece) for piece in self.pieces)

    @property
    def audio(self) -> bytes:
        """The file as a copy in one piece."""
        return b"".join(self.pieces)
