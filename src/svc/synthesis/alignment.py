"""When each of the caller's characters is heard."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from svc.engine.protocol import Timing
from svc.text.sentences.phrases import Phrase, Word


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word, and when it is heard, in seconds from the start of the speech.

    A chunk may hold only a part of it: `begun` and `done` say how much was spoken before this part, and with it.
    """

    word: Word
    start: float
    end: float
    begun: float = 0.0
    done: float = 1.0


@dataclass(frozen=True, slots=True)
class AlignedWords:
    """The words heard in a chunk, and the position in the caller's text at its end."""

    words: tuple[TimedWord, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True)
class Alignment:
    """Characters with their times: each begins where the one before it ends, or later."""

    characters: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @classmethod
    def join(cls, parts: Iterable["Alignment"]) -> "Alignment":
        whole = cls()
        for part in parts:
            whole.extend(part)
        return whole

    def extend(self, other: "Alignment") -> None:
        self.characters.extend(other.characters)
        self.starts.extend(other.starts)
        self.ends.extend(other.ends)

    def add(self, text: str, start: float, end: float) -> None:
        """Adds the text's characters, each with an equal share of the time."""
        share = (end - start) / len(text) if text else 0.0
        starts = [start + index * share for index in range(len(text))]
        self.characters.extend(text)
        self.starts.extend(starts)
        self.ends.extend([*starts[1:], end] if text else ())

    def split(self, seconds: float) -> tuple["Alignment", "Alignment"]:
        """The characters that begin before this time, none of which ends after it, and the others."""
        cut = bisect_left(self.starts, seconds)
        before = Alignment(self.characters[:cut], self.starts[:cut], self.ends[:cut])
        if before.ends:
            before.ends[-1] = min(before.ends[-1], seconds)
        return before, Alignment(self.characters[cut:], self.starts[cut:], self.ends[cut:])


def align(phrase: Phrase, timings: Sequence[Timing], phrase_start: float) -> AlignedWords:
    """The words of a phrase whose phonemes have these times, in order; the phrase began at `phrase_start` seconds.

    Without timings it is the pause after the phrase, in which what follows the last word has its time.
    """
    if not timings:
        return AlignedWords((), phrase.end)
    timed = [timing.phoneme for timing in timings]
    words: list[TimedWord] = []
    last_position = phrase.words[-1].end if phrase.pause else phrase.end
    next_starts = [*(word.start for word in phrase.words[1:]), last_position]
    first = position = 0
    for word, next_start in zip(phrase.words, next_starts, strict=False):
        low, high = bisect_left(timed, first), bisect_left(timed, first + len(word.phonemes))
        if low < high:
            begun, done = timed[low] - first, timed[high - 1] + 1 - first
            words.append(
                TimedWord(
                    word,
                    phrase_start + timings[low].start,
                    phrase_start + timings[high - 1].end,
                    begun / len(word.phonemes),
                    done / len(word.phonemes),
                )
            )
            position = next_start if done == len(word.phonemes) else 0
        first += len(word.spaced_phonemes)
    return AlignedWords(tuple(words), position)


class Aligner:
    """Follows the words through the caller's text: each character gets its time once, in order.

    Characters that are read as several words ("$5") last from the first to the last of them. If a chunk ends between
    these words, it gets a part of the characters, in proportion to the sound; a single character goes with the last
    word. What is not read (spaces, tags, emoji) fills the time between its neighbours.
    """

    def __init__(self, start_seconds: float = 0.0) -> None:
        """`start_seconds` is where the text begins: later than 0 if others were spoken before it."""
        self._pending = ""  # characters of the caller's text that have no time yet
        self._position = 0  # of the first of them
        self._end = start_seconds  # where the last aligned character ends
        self._normalized_end = start_seconds  # the same of the normalised text

    def add_text(self, text: str) -> None:
        self._pending += text

    def align_original(self, aligned: AlignedWords, end_seconds: float) -> Alignment:
        """The caller's characters heard up to `end_seconds`, with what follows the last word."""
        alignment = Alignment()
        complete = True
        for span in _spans(aligned.words):
            if not span.begun:
                self._advance(alignment, span.start, max(span.start_seconds, self._end))
                self._end = max(span.start_seconds, self._end)
            complete = span.done == 1.0
            position = span.start + _count(span.end - span.start, span.done)
            self._advance(alignment, position, max(span.end_seconds if complete else end_seconds, self._end))
        if complete:
            self._advance(alignment, aligned.position, max(end_seconds, self._end))
        return alignment

    def align_normalized(self, aligned: AlignedWords, end_seconds: float) -> Alignment:
        """The words as they were read, with the spaces after them."""
        alignment = Alignment()
        next_starts = [*(timed.start for timed in aligned.words[1:]), end_seconds]
        for timed, next_start in zip(aligned.words, next_starts, strict=False):
            spoken, complete = timed.word.spoken, timed.done == 1.0
            # Neighbouring chunks differ by rounding errors. What began in the chunk before continues from there.
            start = self._normalized_end if timed.begun else max(timed.start, self._normalized_end)
            heard = spoken[_count(len(spoken), timed.begun) : _count(len(spoken), timed.done)]
            end = max(start, timed.end if complete else end_seconds)
            alignment.add(heard, start, end)
            self._normalized_end = end if heard else start
            if complete:
                self._normalized_end = max(end, next_start)
                alignment.add(timed.word.tail, end, self._normalized_end)
        return alignment

    def align_rest(self, end_seconds: float) -> Alignment:
        """The caller's characters that are left, up to the end of the speech."""
        return self.align_original(AlignedWords((), self._position + len(self._pending)), end_seconds)

    def _advance(self, alignment: Alignment, position: int, end_seconds: float) -> None:
        """Gives the characters up to a position the time from where the last one ended."""
        count = position - self._position
        if count > 0:
            alignment.add(self._pending[:count], self._end, end_seconds)
            self._pending = self._pending[count:]
            self._position, self._end = position, end_seconds


@dataclass(frozen=True, slots=True)
class _Span:
    """The characters `start:end` and the time of the words in a chunk that stand for them."""

    start: int
    end: int
    start_seconds: float
    end_seconds: float
    begun: float
    """How much of their sound came before this chunk."""
    done: float
    """The same at its end."""


def _spans(words: Iterable[TimedWord]) -> Iterator[_Span]:
    """The spans of text that words stand for; words for the same characters share one."""
    current: _Span | None = None
    for timed in words:
        word = timed.word
        low, high = word.share
        begun, done = low + timed.begun * (high - low), low + timed.done * (high - low)
        if timed.done == 1.0:
            done = high
        if current and word.start < current.end:
            current = replace(current, end=max(current.end, word.end), end_seconds=timed.end, done=done)
        else:
            if current:
                yield current
            current = _Span(word.start, word.end, timed.start, timed.end, begun, done)
    if current:
        yield current


def _count(characters: int, done: float) -> int:
    """How many of these characters are heard when so much of their sound is: one at least, not all before the end."""
    if not 0.0 < done < 1.0:
        return characters if done else 0
    return min(max(int(done * characters), 1), characters - 1)
