"""What is read aloud for a stretch of the caller's text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """`spoken` is read for the characters `start:end` of the text that was normalised."""

    start: int
    end: int
    spoken: str


@dataclass(frozen=True, slots=True)
class Token:
    """One word or mark of spoken text, the characters `start:end` of it, with its sound.

    `phonemes` is in the alphabet that Kokoro was trained on. `space` says that a space follows.
    """

    start: int
    end: int
    phonemes: str
    space: bool
