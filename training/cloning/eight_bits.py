"""Weights in eight bits each, so that they travel in a quarter of their size."""

import torch
from torch import Tensor

Packed = dict[str, tuple[Tensor, Tensor | None, list[int]]]
"""Rows with a scale each, or a vector in fp16; and the shape."""


def packed(weights: dict[str, Tensor]) -> Packed:
    found: Packed = {}
    for name, weight in weights.items():
        value = weight.float()
        if value.dim() > 1:
            scale = value.flatten(1).abs().amax(dim=1).clamp(min=1e-8) / 127
            rows = torch.round(value.flatten(1) / scale[:, None]).to(torch.int8)
            found[name] = (rows, scale, list(value.shape))
        else:
            found[name] = (value.half(), None, list(value.shape))
    return found


def unpacked(weights: Packed) -> dict[str, Tensor]:
    return {
        name: (rows.float() if scale is None else rows.float() * scale[:, None]).view(shape)
        for name, (rows, scale, shape) in weights.items()
    }
