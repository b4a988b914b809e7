"""When each of the caller's characters is heard."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from svc.engine.protocol import Timing
from svc.text.phrases import Phrase, Word


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word, and when it is heard, in seconds from the start of the speech."""

    word: Word
    start: float
    end: float


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
        for index, character in enumerate(text):
            self.characters.append(character)
            self.starts.append(start + index * share)
            self.ends.append(end if index == len(text) - 1 else start + (index + 1) * share)


def align(phrase: Phrase, timings: Sequence[Timing], phrase_start: float) -> AlignedWords:
    """The words of a phrase whose phonemes have these times; the phrase began at `phrase_start` seconds."""
    times = {timing.phoneme: timing for timing in timings}
    words: list[TimedWord] = []
    next_starts = [*(word.start for word in phrase.words[1:]), phrase.end]
    first = position = 0
    for word, next_start in zip(phrase.words, next_starts, strict=False):
        found = [times[index] for index in range(first, first + len(word.phonemes)) if index in times]
        first += len(word.spaced_phonemes)
        if found:
            words.append(TimedWord(word, phrase_start + found[0].start, phrase_start + found[-1].end))
            position = next_start
    return AlignedWords(tuple(words), position)


class Aligner:
    """Follows the words through the caller's text: each character gets its time once, in order.

    Characters that are read as several words ("$5") last from the first to the last of them. What is not read (spaces,
    tags, emoji) fills the time between its neighbours.
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
        for start, end, start_seconds, word_end_seconds in _spans(aligned.words):
            start_seconds = max(start_seconds, self._end)
            self._advance(alignment, start, start_seconds)
            self._advance(alignment, end, max(start_seconds, word_end_seconds))
        self._advance(alignment, aligned.position, max(end_seconds, self._end))
        return alignment

    def align_normalized(self, aligned: AlignedWords, end_seconds: float) -> Alignment:
        """The words as they were read, with the spaces after them."""
        alignment = Alignment()
        ends = [*(timed.start for timed in aligned.words[1:]), end_seconds]
        for timed, next_start in zip(aligned.words, ends, strict=False):
            start = max(timed.start, self._normalized_end)  # neighbouring chunks differ by rounding errors
            end = max(start, timed.end)
            self._normalized_end = max(end, next_start)
            alignment.add(timed.word.spoken, start, end)
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


def _spans(words: Iterable[TimedWord]) -> list[tuple[int, int, float, float]]:
    """The spans of text that words stand for, with their times; words for the same characters share one."""
    spans: list[tuple[int, int, float, float]] = []
    for timed in words:
        word = timed.word
        if spans and word.start < spans[-1][1]:
            start, end, start_seconds, _ = spans[-1]
            spans[-1] = (start, max(end, word.end), start_seconds, timed.end)
        else:
            spans.append((word.start, word.end, timed.start, timed.end))
    return spans
