"""The mapper: from speaker embeddings and pitch to the parameters of a voice.

It is asked twice, the second time for more of what the speech of its first answer lacks (`feedback.py`).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from speaker_encoder.encoder import DVECTOR, EMBEDDING, Embeddings

STYLE, LAYERS, AXES, VOCODER_EMBEDDING = 128, 11, 53, 256
MASKS, MASK_AXES = 2408, 64
"""Numbers of the head's mask offset, and how many axes of those of refined speakers it is predicted on."""
OWN_LAYERS, FOREIGN_LAYERS = 6, 4
"""How many of the layers, the last ones, have an offset, in English and in other languages. The first layers decide
how sounds are pronounced: offsets there add little similarity and many word errors."""
PITCH = 3
INPUTS = 2 * EMBEDDING + PITCH + DVECTOR
SHORTFALL = 2 * EMBEDDING + DVECTOR
WIDTH, BLOCKS, DROPOUT = 512, 3, 0.2


@dataclass
class PredictedVoice:
    """The timbre as coordinates on the built-in voices' principal axes plus a residual, and all other parameters."""

    coordinates: Tensor  # [B, 53], in units of the voices' spread
    residual: Tensor  # [B, 128]
    layer_offsets: Tensor  # [B, 6, 128]
    foreign_layer_offsets: Tensor  # [B, 4, 128]: instead of those, in other languages than English
    vocoder_embedding: Tensor  # [B, 256]
    mask_coordinates: Tensor  # [B, 64], in units of the refined speakers' spread
    mask_offset: Tensor  # [B, 2408]


def build_inputs(embeddings: Embeddings, pitch: Tensor) -> Tensor:
    """The mapper's inputs in one vector, so that two of them can be blended. [B, 643]"""
    joint, dvector = scale_embeddings(embeddings).split([2 * EMBEDDING, DVECTOR], dim=1)
    log_pitch, spread, share = pitch.unbind(1)
    scaled_pitch = torch.stack([(log_pitch - 5.1) * 3, spread * 5, share], dim=1)
    return torch.cat([joint, scaled_pitch, dvector], dim=1)


def scale_embeddings(embeddings: Embeddings) -> Tensor:
    """The embeddings in one vector, whose numbers have a root mean square of one. [B, 640]"""
    return torch.cat([embeddings.joint * math.sqrt(EMBEDDING), embeddings.dvector * math.sqrt(DVECTOR)], dim=1)


def find_shortfall(inputs: Tensor, heard: Embeddings) -> Tensor:
    """What speech lacks with these embeddings, when the mapper's inputs describe who it should be. [B, 640]"""
    joint, _, dvector = inputs.split([2 * EMBEDDING, PITCH, DVECTOR], dim=1)
    return torch.cat([joint, dvector], dim=1) - scale_embeddings(heard)


class Mapper(nn.Module):
    """An MLP. With several parts it is that many times as wide, each part with a norm of its own (`concatenate`)."""

    def __init__(self, parts: int = 1) -> None:
        super().__init__()
        self.parts, width = parts, parts * WIDTH
        self.entry = nn.Linear(INPUTS, width)
        self.correction = nn.Linear(SHORTFALL, width, bias=False)
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
        self.coordinates = nn.Linear(width, AXES)
        self.offsets = nn.Linear(width, (1 + OWN_LAYERS + FOREIGN_LAYERS) * STYLE)
        self.vocoder_embedding = nn.Linear(width, VOCODER_EMBEDDING)
        self.mask_coordinates = nn.Linear(width, MASK_AXES)
        nn.init.zeros_(self.correction.weight)
        for layer in (self.offsets, self.vocoder_embedding, self.mask_coordinates):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        # Of refined speakers (`set_mask_basis`); zero until then, and so is the mask.
        self.register_buffer("mask_mean", torch.zeros(MASKS))
        self.register_buffer("mask_axes", torch.zeros(MASK_AXES, MASKS))

    def set_mask_basis(self, masks: Tensor) -> None:
        """The mean and the principal axes of masks [N, 2408], scaled by their spread."""
        self.mask_mean.copy_(masks.mean(dim=0))
        _, spread, axes = torch.linalg.svd(masks - self.mask_mean, full_matrices=False)
        count = min(MASK_AXES, len(spread))
        self.mask_axes[:count] = (axes * (spread / len(masks) ** 0.5)[:, None])[:count]

    def forward(self, inputs: Tensor, shortfall: Tensor | None = None) -> PredictedVoice:
        x = self.entry(inputs)
        if shortfall is not None:
            x = x + self.correction(shortfall)
        for block in self.blocks:
            x = x + block(x)
        x = self.norm(x)
        # Off the principal axes a small step is audible at once: the factor makes these weights learn ten times slower.
        offsets = 0.1 * self.offsets(x).unflatten(1, (-1, STYLE))
        residual, own, foreign = offsets.split([1, OWN_LAYERS, FOREIGN_LAYERS], dim=1)
        mask = self.mask_coordinates(x)
        return PredictedVoice(
            self.coordinates(x),
            residual[:, 0],
            own,
            foreign,
            0.1 * self.vocoder_embedding(x),
            mask,
            self.mask_mean + mask @ self.mask_axes,
        )


def average(mappers: list[Mapper]) -> Mapper:
    """The mean of the weights."""
    merged, states = Mapper(mappers[0].parts), [mapper.state_dict() for mapper in mappers]
    merged.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return merged


@torch.no_grad()
def scale_foreign_offsets(mapper: Mapper, gain: float) -> None:
    rows = slice(-FOREIGN_LAYERS * STYLE, None)
    mapper.offsets.weight[rows] *= gain
    mapper.offsets.bias[rows] *= gain


def concatenate(mappers: list[Mapper]) -> Mapper:
    """A mapper as wide as all together, which predicts the mean of their predictions and can be trained further."""
    merged, states = Mapper(sum(mapper.parts for mapper in mappers)), [mapper.state_dict() for mapper in mappers]
    weights = {}
    for name in merged.state_dict():
        values = [state[name] for state in states]
        if name in ("mask_mean", "mask_axes"):
            weights[name] = sum(values) / len(values)
        elif name.startswith(("coordinates.", "offsets.", "vocoder_embedding.", "mask_coordinates.")):
            shares = [value / len(values) for value in values]
            weights[name] = torch.cat(shares, dim=1) if name.endswith("weight") else sum(shares)
        elif name.startswith("blocks.") and values[0].dim() == 2:
            weights[name] = torch.block_diag(*values)
        else:
            weights[name] = torch.cat(values)
    merged.load_state_dict(weights)
    return merged
