"""What is spoken in training: texts of nine languages, and those that are kept for validation."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHARES = {"a": 6, "b": 1, "e": 3, "f": 4, "h": 1, "i": 1, "j": 1, "p": 3, "z": 1}
"""How often each language is spoken."""
HELD_OUT = 20
"""Texts of each that training never speaks."""
SHORTEST = 24


@dataclass(frozen=True)
class Text:
    language: str
    ids: list[int]


class Texts:
    def __init__(self, corpus: Path, longest: int, spelled: Mapping[str, Sequence[Text]]) -> None:
        """`spelled` are spoken instead of the corpus's, in the languages that they are in."""
        self._spoken: dict[str, list[Text]] = {}
        self._held_out: dict[str, list[Text]] = {}
        for language, texts in json.loads(corpus.read_text()).items():
            plain = [Text(language, ids) for ids in texts]
            found = [text for text in spelled.get(language, plain) if SHORTEST <= len(text.ids) <= longest]
            random.Random(0).shuffle(found)
            self._held_out[language], self._spoken[language] = found[:HELD_OUT], found[HELD_OUT:]

    def draw(self) -> Text:
        (language,) = random.choices(list(SHARES), list(SHARES.values()))
        return random.choice(self._spoken[language])

    def held_out(self, language: str, count: int) -> list[Text]:
        return self._held_out[language][:count]
