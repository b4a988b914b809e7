"""The mapper: who somebody is → how svc speaks like them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cloning.ear import DVECTOR, EMBEDDING, Heard

STYLE, LAYERS, AXES, GRAIN = 128, 11, 53, 256
STRAYING, STRAYING_ABROAD = 6, 4
"""So many of the layers, the last ones, have a timbre of their own, in English and in other languages. In the others,
which decide how sounds are pronounced, that makes a voice hardly more like the person, and far more words misheard."""
ACCENTED = "efp"
"""Spanish, French and Portuguese, by Kokoro's letters: what is learned of them is the same for everybody."""
OWN_ABROAD = 1.2
"""By which a person's own layers are multiplied in other languages than English: learned beside words that must be
understood, they turn out too timid. It was chosen when the shipped weights were there, which learned without it."""
PITCH = 3
INPUTS = 2 * EMBEDDING + PITCH + DVECTOR
WIDTH, BLOCKS, DROPOUT = 512, 3, 0.2


@dataclass
class Guess:
    """Coordinates of a timbre: on the axes of the built-in voices, and off them."""

    axes: Tensor  # [B, 53], in units of the voices' spread
    free: Tensor  # [B, 128]
    layers: Tensor  # [B, 6, 128]
    abroad: Tensor  # [B, 4, 128]: instead of those, in other languages than English
    grain: Tensor  # [B, 256]: in the head's condition
    accents: Tensor  # [B, 3, 11, 128]: the same for everybody, added in each of the languages `ACCENTED`
    shares: Tensor  # [B, 3, 2, 11]: how much more of natives, and of the person, than `axes.rule` says


def inputs(heard: Heard, pitch: Tensor) -> Tensor:
    """All that a voice is made from, in one vector, so that two of them can be mixed. [B, 643]"""
    scale = math.sqrt(EMBEDDING)
    log_pitch, spread, share = pitch.unbind(1)
    curves = torch.stack([(log_pitch - 5.1) * 3, spread * 5, share], dim=1)
    dvector = heard.dvector * math.sqrt(DVECTOR)
    return torch.cat([heard.eres2net * scale, heard.campplus * scale, curves, dvector], dim=1)


class Mapper(nn.Module):
    """As wide as its parts together, each of which begins as a mapper of its own (`side_by_side`)."""

    def __init__(self, parts: int = 1) -> None:
        super().__init__()
        self.parts, width = parts, parts * WIDTH
        self.entry = nn.Linear(INPUTS, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.GroupNorm(parts, width),
                nn.Linear(width, width),
                nn.GELU(),
                nn.Dropout(DROPOUT),
                nn.Linear(width, width),
            )
            for _ in range(BLOCKS)
        )
        self.norm = nn.GroupNorm(parts, width)
        self.axes = nn.Linear(width, AXES)
        self.free = nn.Linear(width, (1 + STRAYING + STRAYING_ABROAD) * STYLE)
        self.grain = nn.Linear(width, GRAIN)
        for layer in (self.free, self.grain):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.accents = nn.Parameter(torch.zeros(len(ACCENTED), LAYERS, STYLE))
        self.shares = nn.Parameter(torch.zeros(len(ACCENTED), 2, LAYERS))

    def forward(self, inputs: Tensor) -> Guess:
        x = self.entry(inputs)
        for block in self.blocks:
            x = x + block(x)
        x = self.norm(x)
        # Off the axes a small step is heard at once: these weights learn ten times slower.
        free = 0.1 * self.free(x).unflatten(1, (-1, STYLE))
        layers, abroad = free[:, 1 : 1 + STRAYING], OWN_ABROAD * free[:, 1 + STRAYING :]
        accents, shares = (each.expand(len(x), -1, -1, -1) for each in (self.accents, self.shares))
        return Guess(self.axes(x), free[:, 0], layers, abroad, 0.1 * self.grain(x), accents, shares)


def mean(mappers: list[Mapper]) -> Mapper:
    """Of the weights."""
    found, states = Mapper(mappers[0].parts), [mapper.state_dict() for mapper in mappers]
    found.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return found


def side_by_side(mappers: list[Mapper]) -> Mapper:
    """Guesses the mean of what these guess, and can learn from there what none of them could."""
    found, states = Mapper(sum(mapper.parts for mapper in mappers)), [mapper.state_dict() for mapper in mappers]
    weights = {}
    for name in found.state_dict():
        values = [state[name] for state in states]
        if name in ("accents", "shares"):
            weights[name] = sum(values) / len(values)
        elif name.startswith(("axes.", "free.", "grain.")):
            shares = [value / len(values) for value in values]
            weights[name] = torch.cat(shares, dim=1) if name.endswith("weight") else sum(shares)
        elif name.startswith("blocks.") and values[0].dim() == 2:
            weights[name] = torch.block_diag(*values)
        else:
            weights[name] = torch.cat(values)
    found.load_state_dict(weights)
    return found
