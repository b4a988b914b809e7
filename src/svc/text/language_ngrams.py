"""Tells languages of one script apart by n-grams of bytes, by naive Bayes. scripts/make_language_ngrams.py makes it."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt

from svc.text.language import Language

_LONGEST = 6
_MOST_CHARACTERS = 1000  # more do not make it surer


class NgramClassifier:
    def __init__(self) -> None:
        with np.load(BytesIO(files("svc").joinpath("data/language-ngrams.npz").read_bytes())) as stored:
            self._languages = [str(each) for each in stored["languages"]]
            self._rows = {ngram: row for row, ngram in enumerate(stored["ngrams"].tobytes().split(b"\xff"))}
            self._gains: npt.NDArray[np.uint8] = stored["gains"]
            self._step, self._floor, self._prior = (stored[name] for name in ("step", "floor", "prior"))

    def rank(self, text: str, base: Language) -> dict[Language, float]:
        """How probable each language is; `base` stands for its language in its own region."""
        text = unicodedata.normalize("NFC", text[:_MOST_CHARACTERS])
        encoded = (text.lower() if text.isupper() else text).encode("utf-8", "ignore")
        counts = Counter(self._find_rows(encoded))
        times = np.log1p(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
        scores = times @ (self._gains[list(counts)] * self._step + self._floor) + self._prior
        # Neighbouring n-grams say the same: the root of the length makes the shares about right.
        scores /= np.sqrt(max(1, len(encoded)))
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        found: dict[Language, float] = {}
        for code, share in zip(self._languages, shares.tolist(), strict=True):
            if language := Language.parse(code, base):
                found[language] = found.get(language, 0.0) + share  # Norwegian has two codes
        return found

    def _find_rows(self, text: bytes) -> Iterator[int]:
        """The longest n-gram that ends at each byte."""
        for end in range(1, len(text) + 1):
            for start in range(max(0, end - _LONGEST), end):
                row = self._rows.get(text[start:end])
                if row is not None:
                    yield row
                    break


@cache
def load_classifier() -> NgramClassifier:
    """Loaded by the first text that is not clearly in the voice's language."""
    return NgramClassifier()
