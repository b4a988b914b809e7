"""What the engine speaks in one go: a sentence, or a part of one that is too long or has pauses in it."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from svc.text.g2p import Phonemizer, from_ipa
from svc.text.language import Language
from svc.text.markup import Break, Sound
from svc.text.normalise import normalise
from svc.text.normalise.rules import Span

# The model was trained on sentences: beyond this it starts to hurry. It holds 510 with the context on both sides.
LONGEST_PHRASE = 350
LONGEST_CONTEXT = 80
_MARKS = frozenset(";:,.!?—…")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark as it is spoken, for the characters `start:end` of the text.

    Several words may stand for the same characters: "five" and "dollars" for "$5".
    """

    start: int
    end: int
    spoken: str
    tail: str
    """What follows it before the next word, without a sound of its own: mostly a space."""
    phonemes: str
    space: bool
    """Whether the model reads a space after it."""

    @property
    def sound(self) -> str:
        return self.phonemes + " " if self.space else self.phonemes


def pronounce(text: str, language: Language, sounds: Sequence[Sound], phonemizer: Phonemizer) -> list[Word]:
    """The words of a sentence; `sounds` are stretches whose pronunciation the caller gave."""
    readings = _readings(text, language, sounds)
    spoken = "".join(each.spoken for each in readings)
    begins = []  # where each reading's words begin in the spoken text
    length = 0
    for each in readings:
        begins.append(length)
        length += len(each.spoken)

    def origin(position: int) -> tuple[int, int]:
        """The characters of the sentence behind one character of the spoken text."""
        index = bisect_right(begins, position) - 1
        reading = readings[index]
        if reading.spoken == text[reading.start : reading.end]:
            start = reading.start + position - begins[index]
            return start, start + 1
        return reading.start, reading.end

    tokens = phonemizer(spoken, language)
    nexts = [*(token.start for token in tokens[1:]), len(spoken)]
    words = [
        Word(
            start=origin(token.start)[0],
            end=origin(token.end - 1)[1],
            spoken=spoken[token.start : token.end],
            tail=spoken[token.end : following],
            phonemes=token.phonemes,
            space=token.space,
        )
        for token, following in zip(tokens, nexts, strict=False)
    ]
    for sound in sounds:
        words = _override(words, sound, from_ipa(sound.ipa, language))
    return words


def _readings(text: str, language: Language, sounds: Sequence[Sound]) -> list[Span]:
    """What is read for the text; where the caller gave the sound, the text is read as it stands."""
    readings: list[Span] = []
    position = 0
    for start, end in [*((each.start, each.end) for each in sounds), (len(text), len(text))]:
        readings += [
            Span(position + each.start, position + each.end, each.spoken)
            for each in normalise(text[position:start], language)
        ]
        if start < end:
            readings.append(Span(start, end, text[start:end]))
        position = end
    return readings


def _override(words: list[Word], sound: Sound, phonemes: str) -> list[Word]:
    inside = [word for word in words if word.start < sound.end and word.end > sound.start]
    if not inside or not phonemes:
        return words
    first = words.index(inside[0])
    merged = replace(
        inside[-1],
        start=inside[0].start,
        spoken="".join(word.spoken + word.tail for word in inside[:-1]) + inside[-1].spoken,
        phonemes=phonemes,
    )
    return [*words[:first], merged, *words[first + len(inside) :]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words to speak, and the silence after them.

    `before` and `after` are neighbouring phonemes: they shape the melody and are not heard.
    """

    words: tuple[Word, ...]
    pause: float = 0.0
    before: str = ""
    after: str = ""
    ending: str = "."
    end: int = 0
    """How far in the caller's text one is when it has been spoken."""
    language: Language = Language.ENGLISH_US
    """That it is read in."""

    @property
    def phonemes(self) -> str:
        sound = "".join(word.sound for word in self.words)
        if sound and not self.after and not _MARKS.intersection(sound.rstrip('"”) ')[-1:]):
            return sound.rstrip() + self.ending  # without a mark the voice breaks off instead of coming to rest
        return sound


def phrases(words: list[Word], breaks: list[Break], rest: float = 0.0, ending: str = ".") -> Iterator[Phrase]:
    """A sentence's words cut at its breaks, and where they are too many; `rest` is the silence after it.

    `ending` is the mark that it is spoken with if it has none of its own.
    """
    position = 0
    for each in breaks:
        cut = next((i for i in range(position, len(words)) if words[i].start >= each.position), len(words))
        yield from _paused(words[position:cut], each.seconds, "," if cut < len(words) else ending)
        position = cut
    if position < len(words):
        yield from _paused(words[position:], rest, ending)


def last_sounds(words: list[Word]) -> str:
    """The end of a text as context for what follows it."""
    sound = "".join(word.sound for word in words).strip() + " "
    return sound if len(sound) <= LONGEST_CONTEXT else sound[sound.find(" ", -LONGEST_CONTEXT) + 1 :]


def first_sounds(words: list[Word]) -> str:
    """The beginning of a text as context for what goes before it."""
    sound = " " + "".join(word.sound for word in words).strip()
    return sound if len(sound) <= LONGEST_CONTEXT else sound[: sound.rfind(" ", 0, LONGEST_CONTEXT)]


def _paused(words: list[Word], pause: float, ending: str) -> Iterator[Phrase]:
    parts = _parts(words)
    if not parts:
        yield Phrase((), pause)
    for index, part in enumerate(parts):
        yield Phrase(
            tuple(part),
            pause if index == len(parts) - 1 else 0.0,
            last_sounds(parts[index - 1]) if index else "",
            first_sounds(parts[index + 1]) if index + 1 < len(parts) else "",
            ending,
        )


def _parts(words: list[Word]) -> list[list[Word]]:
    """Words in groups that the engine can hold, cut after a mark if there is one, else between words."""
    parts: list[list[Word]] = []
    current: list[Word] = []
    length = 0
    for word in _short(words):
        if length + len(word.sound) > LONGEST_PHRASE:
            cut = _best_cut(current)
            parts.append(current[:cut])
            current = current[cut:]
            length = sum(len(each.sound) for each in current)
        current.append(word)
        length += len(word.sound)
    return [*parts, current] if current else parts


def _best_cut(words: list[Word]) -> int:
    """After the last mark in the second half, or after the last word."""
    for index in range(len(words) - 1, len(words) // 2, -1):
        if words[index].phonemes in _MARKS:
            return index + 1
    return len(words)


def _short(words: list[Word]) -> Iterator[Word]:
    """The same words, where one with an endless sound is several."""
    for word in words:
        for start in range(0, len(word.phonemes), LONGEST_PHRASE // 2):
            yield replace(word, phonemes=word.phonemes[start : start + LONGEST_PHRASE // 2])
