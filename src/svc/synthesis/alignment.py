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
class Alignment:
    """Characters with their times: each begins where the one before it ends, or later."""

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


@dataclass(frozen=True, slots=True)
class Progress:
    """The words that are heard in a stretch of sound, and how far in the caller's text one is at its end."""

    words: tuple[TimedWord, ...] = ()
    position: int = 0


def progress(phrase: Phrase, timings: Sequence[Timing], since: float) -> Progress:
    """What is heard where these phonemes of a phrase are; the phrase began `since` seconds ago."""
    times = {timing.phoneme: timing for timing in timings}
    words: list[TimedWord] = []
    nexts = [*(word.start for word in phrase.words[1:]), phrase.end]
    place = position = 0
    for word, following in zip(phrase.words, nexts, strict=False):
        sounds = [times[index] for index in range(place, place + len(word.phonemes)) if index in times]
        place += len(word.spaced_phonemes)
        if sounds:
            words.append(TimedWord(word, since + sounds[0].start, since + sounds[-1].end))
            position = following
    return Progress(tuple(words), position)


class Aligner:
    """Follows the spoken words through the caller's text: each character is told once, in order.

    A stretch that is read as several words ("$5") is heard from the first to the last of them; what is not read
    (spaces, tags, emoji) fills the time between its neighbours.
    """

    def __init__(self) -> None:
        self._untold = ""  # what was read of the caller's text and not yet told
        self._told = 0  # characters
        self._until = 0.0  # seconds, when the last of them ends

    def read(self, text: str) -> None:
        """Adds to the caller's text."""
        self._untold += text

    def original(self, heard: Progress, until: float) -> Alignment:
        """The caller's characters that are heard up to `until`, with what follows the last word."""
        alignment = Alignment()
        for start, end, begins, ends in _stretches(heard.words):
            begins = max(begins, self._until)
            self._tell(alignment, start, begins)
            self._tell(alignment, end, max(begins, ends))
        self._tell(alignment, heard.position, max(until, self._until))
        return alignment

    def normalized(self, heard: Progress, until: float) -> Alignment:
        """The words as they were read, with the spaces after them."""
        alignment = Alignment()
        ends = [*(timed.start for timed in heard.words[1:]), until]
        for timed, end in zip(heard.words, ends, strict=False):
            alignment.add(timed.word.spoken, timed.start, timed.end)
            alignment.add(timed.word.tail, timed.end, max(timed.end, end))
        return alignment

    def rest(self, until: float) -> Alignment:
        """The caller's characters that are left, up to the end of the sound."""
        return self.original(Progress((), self._told + len(self._untold)), until)

    def _tell(self, alignment: Alignment, position: int, ends: float) -> None:
        """Tells the characters up to a position, from where the last one ended."""
        count = position - self._told
        if count > 0:
            alignment.add(self._untold[:count], self._until, ends)
            self._untold = self._untold[count:]
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
