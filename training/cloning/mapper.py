"""The mapper: who somebody is → how svc speaks like them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cloning.ear import EMBEDDING, Heard

STYLE, LAYERS, AXES = 128, 11, 53
PITCH = 3
INPUTS = 2 * EMBEDDING + PITCH
WIDTH, BLOCKS, DROPOUT = 512, 3, 0.2


@dataclass
class Guess:
    """Coordinates of a timbre: on the axes of the built-in voices, and off them."""

    axes: Tensor  # [B, 53], in units of the voices' spread
    free: Tensor  # [B, 128]
    layers: Tensor  # [B, 11, 128]


def inputs(heard: Heard, pitch: Tensor) -> Tensor:
    """All that a voice is made from, in one vector, so that two of them can be mixed. [B, 387]"""
    scale = math.sqrt(EMBEDDING)
    log_pitch, spread, share = pitch.unbind(1)
    curves = torch.stack([(log_pitch - 5.1) * 3, spread * 5, share], dim=1)
    return torch.cat([heard.eres2net * scale, heard.campplus * scale, curves], dim=1)


class Mapper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(INPUTS, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, WIDTH)
            )
            for _ in range(BLOCKS)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.axes = nn.Linear(WIDTH, AXES)
        self.free = nn.Linear(WIDTH, (1 + LAYERS) * STYLE)
        nn.init.zeros_(self.free.weight)
        nn.init.zeros_(self.free.bias)

    def forward(self, inputs: Tensor) -> Guess:
        x = self.entry(inputs)
        for block in self.blocks:
            x = x + block(x)
        x = self.norm(x)
        # Off the axes a small step is heard at once: these weights learn ten times slower.
        free = 0.1 * self.free(x).unflatten(1, (1 + LAYERS, STYLE))
        return Guess(self.axes(x), free[:, 0], free[:, 1:])
