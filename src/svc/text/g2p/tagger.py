"""Part-of-speech tags for English words: an averaged perceptron over the word and its neighbours."""

import json
import re

import numpy as np
import numpy.typing as npt

from svc.text.g2p.json_table import JsonTable
from svc.text.g2p.lexicon import read_asset

_CONTRACTION = re.compile(r"(?i)(?<=.)(n't|'(?:s|re|ve|ll|d|m))$")


class Tagger:
    """Penn Treebank tags, by the weights and features of the tagger that hibari-tts ships."""

    def __init__(self) -> None:
        # The weights come last and are most of it.
        rest, weights = read_asset("tagger.json.gz").split(b',"weights":', 1)
        model = json.loads(rest + b"}")
        self._unambiguous: dict[str, str] = model["tagdict"]
        self._vocabulary = frozenset(model["vocab"])
        # Of tags with the same score, the last of the alphabet is taken.
        self._tags: list[str] = sorted(model["tags"], reverse=True)
        self._weights = JsonTable(weights, self._parse_weights)

    def __call__(self, words: list[str]) -> list[str]:
        """One tag per word; a contraction ("she's") has the tag of its first part."""
        parts: list[str] = []
        firsts: list[int] = []
        for word in words:
            firsts.append(len(parts))
            parts.extend(part for part in _CONTRACTION.split(word) if part)
        tags = self._tag(parts)
        return [tags[first] for first in firsts]

    def _tag(self, parts: list[str]) -> list[str]:
        window = ["-START2-", "-START-", *map(self._normalise, parts), "-END-", "-END2-"]
        tags = ["-START2-", "-START-"]
        for at, part in enumerate(parts):
            tags.append(self._unambiguous.get(part) or self._guess(part, window[at : at + 5], tags[-1], tags[-2]))
        return tags[2:]

    def _guess(self, word: str, window: list[str], before: str, before_that: str) -> str:
        two_back, one_back, here, one_on, two_on = window
        features = (
            "b",
            f"s3={word[-3:]}",
            f"p1={word[0]}",
            f"w={here}",
            f"sh={_shape(word)}",
            "i0" if one_back == "-START-" else "i+",
            f"t-1={before}",
            f"t-2={before_that}",
            f"t-12={before},{before_that}",
            f"w-1={one_back}",
            f"s3-1={one_back[-3:]}",
            f"w-2={two_back}",
            f"w+1={one_on}",
            f"s3+1={one_on[-3:]}",
            f"w+2={two_on}",
        )
        scores = np.zeros(len(self._tags))
        for feature in features:
            if (weights := self._weights.get(feature)) is not None:
                scores += weights
        return self._tags[scores.argmax()]

    def _parse_weights(self, text: bytes) -> npt.NDArray[np.float64]:
        """[tags]: zero for those that a feature says nothing about."""
        weights = json.loads(text)
        return np.array([weights.get(tag, 0.0) for tag in self._tags])

    def _normalise(self, word: str) -> str:
        """The word as a feature: numbers and rare words only by their shape."""
        if "-" in word and word[0] != "-":
            normalised = "!HYPHEN"
        elif word.isdigit() and len(word) == 4:
            normalised = "!YEAR"
        elif word[0].isdigit():
            normalised = "!DIGITS"
        else:
            normalised = word.lower()
        return normalised if normalised in self._vocabulary else f"<{_shape(word)}>"


def _shape(word: str) -> str:
    if word.isalpha():
        if word.islower():
            return "x"
        if word.isupper():
            return "XX" if len(word) > 1 else "X1"
        return "Xx" if word[0].isupper() and word[1:].islower() else "xX"
    if word.isdigit():
        return "d"
    return "".join("d" if c.isdigit() else "x" if c.isalpha() else c for c in word[:4])
