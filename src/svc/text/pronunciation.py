"""A sentence as words with their sounds, each tied to the caller's characters."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from svc.text.g2p import Phonemizer, from_ipa
from svc.text.language import Language
from svc.text.markup import Sound
from svc.text.normalise import normalise
from svc.text.spans import Reading


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


def _readings(text: str, language: Language, sounds: Sequence[Sound]) -> list[Reading]:
    """What is read for the text; where the caller gave the sound, the text is read as it stands."""
    readings: list[Reading] = []
    position = 0
    for start, end in [*((each.start, each.end) for each in sounds), (len(text), len(text))]:
        readings += [
            Reading(position + each.start, position + each.end, each.spoken)
            for each in normalise(text[position:start], language)
        ]
        if start < end:
            readings.append(Reading(start, end, text[start:end]))
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
