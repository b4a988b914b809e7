"""The principal axes of the built-in voices, on which voices are guessed.

They belong to an encoder's weights and are saved with them: computed anew on another machine, some may point the other
way.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

import bank as banks
import voices
from cloning.mapper import AXES, STYLE, Guess

STEREOTYPE_ROWS = slice(60, 120)
"""Rows of the style tables, by number of phonemes, that a voice's offset is read from."""


@dataclass
class Voice:
    """What the engines read: offsets from the mean voice, a batch of them."""

    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B, 128]
    layers: Tensor  # [B, 11, 128]
    pitch_scale: Tensor  # [B]


class Axes(nn.Module):
    """Each half of the style by itself. Empty until `measured`, or filled from a saved encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("timbre", torch.zeros(AXES // 2, STYLE))
        self.register_buffer("melody", torch.zeros(AXES // 2, STYLE))
        # The mean voice's table and the built-in voices' places are the same on any machine: no need to save them.
        self.register_buffer("centre", torch.zeros(voices.ROWS, 2 * STYLE), persistent=False)
        self.register_buffer("offsets", torch.zeros(voices.COUNT, 2 * STYLE), persistent=False)

    @classmethod
    def measured(cls, tables: Tensor) -> "Axes":
        styles, found = banks.Styles(tables), cls()
        found.centre.copy_(styles.centre)
        for name, axes, spread in zip(("timbre", "melody"), styles.axes, styles.spreads, strict=True):
            getattr(found, name).copy_(axes * spread[:, None])
        found.offsets.copy_((tables[:, STEREOTYPE_ROWS] - styles.centre[STEREOTYPE_ROWS]).mean(dim=1))
        return found

    def voice(self, guess: Guess) -> Voice:
        timbre, melody = guess.axes.chunk(2, dim=1)
        scale = torch.exp(guess.log_pitch_scale.clamp(-0.7, 0.7))
        return Voice(timbre @ self.timbre + guess.timbre, melody @ self.melody + guess.melody, guess.layers, scale)

    def coordinates(self, offsets: Tensor) -> Tensor:
        """[B, 256] → [B, 106]"""
        halves = zip(offsets.split(STYLE, dim=1), (self.timbre, self.melody), strict=True)
        return torch.cat([half @ axes.T / axes.square().sum(dim=1) for half, axes in halves], dim=1)
