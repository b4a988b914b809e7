"""Texts to synthesise in training, in nine languages, and those that are held out for validation."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHARES = {"a": 6, "b": 1, "e": 3, "f": 4, "h": 1, "i": 1, "j": 1, "p": 3, "z": 1}
"""How often each language is drawn, by Kokoro's letters."""
HELD_OUT = 20
"""Texts of each language that are never used for training."""
SHORTEST = 24


@dataclass(frozen=True)
class Text:
    language: str
    ids: list[int]


class Texts:
    def __init__(self, corpus: Path, longest: int, spelled: Mapping[str, Sequence[Text]] | None = None) -> None:
        """In the languages of `spelled`, its texts are used instead of the corpus's."""
        self._training: dict[str, list[Text]] = {}
        self._held_out: dict[str, list[Text]] = {}
        for language, sentences in json.loads(corpus.read_text()).items():
            plain = [Text(language, ids) for ids in sentences]
            texts = [t for t in (spelled or {}).get(language, plain) if SHORTEST <= len(t.ids) <= longest]
            random.Random(0).shuffle(texts)
            self._held_out[language], self._training[language] = texts[:HELD_OUT], texts[HELD_OUT:]

    def draw(self) -> Text:
        (language,) = random.choices(list(SHARES), list(SHARES.values()))
        return random.choice(self._training[language])

    def held_out(self, language: str, count: int) -> list[Text]:
        return self._held_out[language][:count]
