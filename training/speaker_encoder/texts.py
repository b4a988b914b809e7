"""Texts to synthesise in training, in nine languages, and those that are held out for validation."""

import random
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from speaker_encoder.synthesis import Lines, Synthesis
from speaker_encoder.voice_pca import LETTERS

SHARES = {"a": 10, "b": 1, "e": 2, "f": 2, "h": 1, "i": 1, "j": 1, "p": 2, "z": 1}
"""How often each language is drawn, by Kokoro's letters."""
HELD_OUT = 24
"""Texts of each language that are never used for training."""
LENGTHS = range(26, 64)
"""Phonemes of a text that may last three seconds."""


class Texts:
    def __init__(self, corpus: Path, synthesis: Synthesis, count: int, letters: str = LETTERS) -> None:
        """Tries `count` texts of each of these languages from `acoustic.corpus`."""
        with np.load(corpus) as stored:
            numbers = {name: i for i, name in enumerate(stored["languages"].tolist())}
            language, lengths, ids = stored["language"], stored["lengths"].astype(np.int64), stored["ids"]
        ends = np.cumsum(lengths)
        self.letters = letters
        self._training: dict[str, Lines] = {}
        self._held_out: dict[str, Lines] = {}
        for letter in letters:
            suitable = np.flatnonzero((language == numbers[letter]) & np.isin(lengths, LENGTHS))
            chosen = random.Random(0).sample(suitable.tolist(), min(count, len(suitable)))
            texts = [(letter, ids[ends[i] - lengths[i] : ends[i]].tolist()) for i in chosen]
            lines = synthesis.make_lines(texts)
            order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(0)).to(lines.row.device)
            held_out = min(HELD_OUT, len(lines) // 3)
            self._held_out[letter], self._training[letter] = lines[order[:held_out]], lines[order[held_out:]]

    def draw(self, count: int, letter: str | None = None) -> Lines:
        """Random texts, of one language or of all by their shares."""
        letters = [letter] * count if letter else random.choices(list(SHARES), list(SHARES.values()), k=count)
        parts = [self._training[each][_draw(len(self._training[each]), letters.count(each))] for each in set(letters)]
        return Lines.concatenate(parts)[torch.randperm(count)]

    def held_out(self, letter: str, count: int) -> Lines:
        return self._held_out[letter][torch.arange(min(count, len(self._held_out[letter])))]

    def __str__(self) -> str:
        return ", ".join(f"{letter} {len(lines)}" for letter, lines in self._training.items())


def _draw(total: int, count: int) -> Tensor:
    return torch.tensor(random.choices(range(total), k=count))
