"""The principal axes of the built-in voices, on which timbres are guessed.

They belong to an encoder's weights and are saved with them: computed anew on another machine, some may point the other
way.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import bank as banks
import voices
from cloning.mapper import AXES, LAYERS, STRAYING, STYLE, Guess

STEREOTYPE_ROWS = slice(60, 120)
"""Rows of the style tables, by number of phonemes, that a voice's offset is read from."""
MEAN_PITCH = 175.0
"""That is heard of the mean voice, in Hz."""


@dataclass
class Voice:
    """What the engines read: offsets from the mean voice, a batch of them. The melody may be one row for all."""

    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B or 1, 128]
    layers: Tensor  # [B, 11, 128]
    pitch_scale: Tensor  # [B]


class Axes(nn.Module):
    """Empty until `measured`, or filled from a saved encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("timbre", torch.zeros(AXES, STYLE))
        # What follows is needed for random voices only, where no sign matters: no need to save it.
        self.register_buffer("melody", torch.zeros(AXES, STYLE), persistent=False)
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

    def timbre_of(self, guess: Guess) -> Tensor:
        return guess.axes @ self.timbre + guess.free

    def voice(self, guess: Guess, log_pitch: Tensor) -> Voice:
        """Speaks at that pitch [B], with the melody of the mean voice."""
        scale = torch.exp((log_pitch - math.log(MEAN_PITCH)).clamp(-0.9, 0.9))
        return Voice(self.timbre_of(guess), torch.zeros_like(guess.free[:1]), all_layers(guess), scale)

    def coordinates(self, timbre: Tensor) -> Tensor:
        """[B, 128] → [B, 53]"""
        return timbre @ self.timbre.T / self.timbre.square().sum(dim=1)

    def built_in(self) -> Voice:
        timbre, melody = self.offsets.split(STYLE, dim=1)
        return plain(timbre, melody)


def all_layers(guess: Guess) -> Tensor:
    """[B, 6, 128] → [B, 11, 128]: the first ones do not stray."""
    return F.pad(guess.layers, (0, 0, LAYERS - STRAYING, 0))


def plain(timbre: Tensor, melody: Tensor) -> Voice:
    """All layers with the voice's own timbre, at its own pitch."""
    count = len(timbre)
    return Voice(timbre, melody, timbre.new_zeros(count, LAYERS, STYLE), timbre.new_ones(count))
