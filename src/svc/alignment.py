"""When each of the caller's characters is heard."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from svc.engine.protocol import Timing
from svc.text.phrase import Phrase
from svc.text.pronunciation import Word


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word, and when it is heard, in seconds from the start of the speech."""

    word: Word
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """Characters with their times: each begins where the one before it ends."""

    characters: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @classmethod
    def joined(cls, parts: Iterable["Alignment"]) -> "Alignment":
        whole = cls()
        for part in parts:
            whole.characters.extend(part.characters)
            whole.starts.extend(part.starts)
            whole.ends.extend(part.ends)
        return whole

    def add(self, text: str, start: float, end: float) -> None:
        """Adds the text's characters, in equal shares of the time."""
        share = (end - start) / len(text) if text else 0.0
        for index, character in enumerate(text):
            self.characters.append(character)
            self.starts.append(start + index * share)
            self.ends.append(end if index == len(text) - 1 else start + (index + 1) * share)


def timed_words(phrase: Phrase, timings: Sequence[Timing], since: float) -> tuple[TimedWord, ...]:
    """The words of a phrase whose phonemes these are; the phrase began `since` seconds ago."""
    times = {timing.phoneme: timing for timing in timings}
    words = []
    position = 0
    for word in phrase.words:
        sounds = [times[index] for index in range(position, position + len(word.phonemes)) if index in times]
        position += len(word.sound)
        if sounds:
            words.append(TimedWord(word, since + sounds[0].start, since + sounds[-1].end))
    return tuple(words)


class Aligner:
    """Follows the spoken words through the caller's text: each character is told once, in order.

    A stretch that is read as several words ("$5") is heard from the first to the last of them; what is not read
    (spaces, tags, emoji) fills the time between its neighbours.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._told = 0  # characters of the text
        self._until = 0.0  # seconds, when the last of them ends
        self._spoken_until = 0.0
        self._owed = ""  # what was read after the last word, told with the next

    def original(self, words: Iterable[TimedWord]) -> Alignment:
        """The caller's characters up to the last of these words."""
        alignment = Alignment()
        for start, end, begins, ends in _stretches(words):
            begins = max(begins, self._until)
            self._tell(alignment, start, self._until, begins)
            self._tell(alignment, end, begins, max(begins, ends))
        return alignment

    def normalized(self, words: Iterable[TimedWord]) -> Alignment:
        """These words as they were read, with the spaces before them."""
        alignment = Alignment()
        for timed in words:
            alignment.add(self._owed, self._spoken_until, timed.start)
            alignment.add(timed.word.spoken, timed.start, timed.end)
            self._spoken_until, self._owed = timed.end, timed.word.tail
        return alignment

    def rest(self, seconds: float) -> Alignment:
        """The caller's characters after the last word, up to the end of the sound."""
        alignment = Alignment()
        self._tell(alignment, len(self._text), self._until, max(seconds, self._until))
        return alignment

    def _tell(self, alignment: Alignment, position: int, begins: float, ends: float) -> None:
        if position > self._told:
            alignment.add(self._text[self._told : position], begins, ends)
            self._told, self._until = position, ends


def _stretches(words: Iterable[TimedWord]) -> list[tuple[int, int, float, float]]:
    """The stretches of text that words stand for, with their times; words for the same characters are one."""
    stretches: list[tuple[int, int, float, float]] = []
    for timed in words:
        word = timed.word
        if stretches and word.start < stretches[-1][1]:
            start, end, begins, _ = stretches[-1]
            stretches[-1] = (start, max(end, word.end), begins, timed.end)
        else:
            stretches.append((word.start, word.end, timed.start, timed.end))
    return stretches
