"""Tells languages of one script apart by n-grams of letters. training/language_ngrams makes the table."""

import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt

from svc.text.language.languages import Language

LONGEST = 5
_MOST_CHARACTERS = 1000  # more do not make it surer


class NgramClassifier:
    def __init__(self) -> None:
        with np.load(BytesIO(files("svc").joinpath("data/language-ngrams.npz").read_bytes())) as stored:
            self._languages = [str(each) for each in stored["languages"]]
            self._rows = {ngram: row for row, ngram in enumerate(stored["ngrams"].tobytes().decode().split("\n"))}
            self._gains: npt.NDArray[np.int8] = stored["gains"]
            self._step = stored["step"]

    def rank(self, text: str, base: Language) -> dict[Language, float]:
        """How probable each language is; `base` stands for its language in its own region."""
        text = prepare(text)
        counts = {
            row: count for ngram, count in count_ngrams(text).items() if (row := self._rows.get(ngram)) is not None
        }
        times = np.log1p(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
        scores = times @ (self._gains[list(counts)] * self._step)
        # Neighbouring n-grams say the same: the root of the length makes the shares about right.
        scores /= np.sqrt(max(1, len(text)))
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        found: dict[Language, float] = {}
        for code, share in zip(self._languages, shares.tolist(), strict=True):
            if language := Language.parse(code, base):
                found[language] = found.get(language, 0.0) + share  # Norwegian has two codes
        return found


def prepare(text: str) -> str:
    """Its words in small letters, with a space around each."""
    text = unicodedata.normalize("NFC", text[:_MOST_CHARACTERS]).lower().replace("’", "'")
    words = "".join(character if character.isalpha() or character == "'" else " " for character in text).split()
    return f" {' '.join(words)} "


def count_ngrams(text: str) -> Counter[str]:
    return Counter(
        text[start : start + length] for length in range(1, LONGEST + 1) for start in range(len(text) - length + 1)
    )


@cache
def load_classifier() -> NgramClassifier:
    """Loaded by the first text that is not clearly in the voice's language."""
    return NgramClassifier()
