"""Who somebody is → how svc speaks like them: a first guess, and what to change in it once it has spoken."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cloning.ear import EMBEDDING, Heard
from cloning.sound import BANDS

STYLE, LAYERS, AXES = 128, 11, 106
PITCH = 3
INPUTS = 2 * EMBEDDING + PITCH + BANDS
WIDTH, BLOCKS = 512, 3


@dataclass
class Guess:
    """Coordinates of a voice: on the axes of the built-in voices, and off them."""

    axes: Tensor  # [B, 106], in units of the voices' spread
    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B, 128]
    layers: Tensor  # [B, 11, 128]
    log_pitch_scale: Tensor  # [B]

    SIZE = AXES + (2 + LAYERS) * STYLE + 1

    @classmethod
    def of(cls, vector: Tensor) -> "Guess":
        """From all of it in one vector. [B, 1771]"""
        axes, timbre, melody, layers, pitch = vector.split([AXES, STYLE, STYLE, LAYERS * STYLE, 1], dim=1)
        return cls(axes, timbre, melody, layers.unflatten(1, (LAYERS, STYLE)), pitch.squeeze(1))

    def vector(self) -> Tensor:
        parts = [self.axes, self.timbre, self.melody, self.layers.flatten(1), self.log_pitch_scale[:, None]]
        return torch.cat(parts, dim=1)

    def __getitem__(self, rows: slice | Tensor) -> "Guess":
        return Guess(**{name: value[rows] for name, value in vars(self).items()})


def inputs(heard: Heard, pitch: Tensor) -> Tensor:
    """All that a voice is made from, in one vector, so that two of them can be mixed. [B, 467]"""
    scale = math.sqrt(EMBEDDING)
    log_pitch, spread, share = pitch.unbind(1)
    curves = torch.stack([(log_pitch - 5.1) * 3, spread * 5, share], dim=1)
    return torch.cat([heard.eres2net * scale, heard.campplus * scale, curves, heard.balance / 3], dim=1)


class _Network(nn.Module):
    """Any vector → the vector of a guess."""

    def __init__(self, entries: int) -> None:
        super().__init__()
        self.entry = nn.Linear(entries, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH)
            )
            for _ in range(BLOCKS)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.axes = nn.Linear(WIDTH, AXES)
        self.free = nn.Linear(WIDTH, (2 + LAYERS) * STYLE)
        self.pitch = nn.Linear(WIDTH, 1)
        for tensor in (self.free.weight, self.free.bias, self.pitch.weight, self.pitch.bias):
            nn.init.zeros_(tensor)

    def forward(self, x: Tensor) -> Tensor:
        x = self.entry(x)
        for block in self.blocks:
            x = x + block(x)
        x = self.norm(x)
        # Off the axes a small step is heard at once: these weights learn ten times slower.
        return torch.cat([self.axes(x), 0.1 * self.free(x), self.pitch(x)], dim=1)


class Mapper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.guess = _Network(INPUTS)
        self.change = _Network(2 * INPUTS + Guess.SIZE)
        nn.init.zeros_(self.change.axes.weight)
        nn.init.zeros_(self.change.axes.bias)
        # How large what is off the axes usually is, so that all of a guess counts alike.
        scale = torch.full((Guess.SIZE,), 10.0)
        scale[:AXES], scale[-1] = 1.0, 5.0
        self.register_buffer("scale", scale, persistent=False)

    def forward(self, person: Tensor) -> Guess:
        """A first guess from what was heard of somebody (`inputs`)."""
        return Guess.of(self.guess(person))

    def corrected(self, person: Tensor, spoken: Tensor, guess: Guess) -> Guess:
        """A better guess, when a voice like this was heard to speak."""
        vector = guess.vector()
        return Guess.of(vector + self.change(torch.cat([person, person - spoken, vector * self.scale], dim=1)))
