"""The texts of the benchmarks: sentences with their acceptable transcripts, and texts for timing."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.sentences.phrases import pronounce

_FOLDER = Path(__file__).parent / "sentences"

VOICE = "af_heart"
"""Speaks the texts for timing."""
SHORT = "The kettle is on, so sit down and tell me everything."
TWELVE_WORDS = "The old lighthouse keeper slowly climbed the stairs and lit the lamp."
# Its first sentence is long and has a first phrase: the first audio shows where the text was split.
PARAGRAPH = (
    "When the storm finally passed, the children ran down to the beach to see what the waves had left behind, and "
    "they came home with pockets full of shells, green glass and one very surprised crab. Their grandmother looked "
    "at it for a while. Then she filled the blue bucket with sea water, put on her boots, and walked it back herself."
)


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    references: list[str]
    """The text itself, and its spoken form with numbers in words where the file has one."""


def read(name: str, limit: int | None = None) -> list[Sentence]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Sentence(forms[0], forms) for forms in rows[:limit]]


def exist(name: str) -> bool:
    return (_FOLDER / f"{name}.txt").exists()


def phonemize(phonemizer: Phonemizer, text: str, language: Language) -> list[str]:
    """The phonemes of each utterance that svc splits a text into."""
    phrases = Frontend(partial(pronounce, phonemizer), language, language).read(text)
    return [phrase.phonemes for phrase in phrases if phrase.words]
