"""Random voices for training data: built-in styles, mixtures of them, points around them."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from teacher.kokoro import STYLE
from teacher.voices import COUNT as VOICES

LAYERS = 11
"""Norms of the decoder (10) and the vocoder, each of which reads the timbre."""


@dataclass
class SampledVoices:
    """A batch of voices to synthesise with."""

    style: Tensor  # [B, 256]
    pitch_scale: Tensor  # [B]


class StyleSampler:
    """Samples built-in voices, mixtures and points around them."""

    def __init__(self, tables: Tensor) -> None:
        self.tables = tables  # [54, 510, 256]
        self.centre = tables.mean(dim=0)
        offsets = (tables[:, 60:120] - self.centre[60:120]).mean(dim=1)
        self.axes, self.spreads = [], []
        for half in offsets.split(STYLE, dim=1):
            _, s, axes = torch.linalg.svd(half, full_matrices=False)
            self.axes.append(_orient(axes[:-1]))
            self.spreads.append(s[:-1] / VOICES**0.5)

    def _mix(self, tokens: int, count: int, voices: int) -> Tensor:
        device = self.tables.device
        order = torch.rand(count, VOICES, device=device).argsort(dim=1)[:, :voices]
        weights = -torch.rand(count, voices, device=device).clamp(min=1e-6).log()
        weights = weights / weights.sum(dim=1, keepdim=True)
        return (weights[..., None] * self.tables[order, tokens]).sum(dim=1)

    def _sample_gaussian(self, tokens: int, count: int, spread: float) -> Tensor:
        """Gaussian on the principal axes of the voices, timbre and prosody independently."""
        halves = [
            spread * (torch.randn(count, len(s), device=s.device) * s) @ axes
            for s, axes in zip(self.spreads, self.axes, strict=True)
        ]
        return self.centre[tokens] + torch.cat(halves, dim=1)

    def sample(self, tokens: int, count: int) -> SampledVoices:
        """A few speak at another pitch."""
        device = self.tables.device
        style = self.sample_styles(tokens, count)
        scale = torch.exp((torch.rand(count, device=device) - 0.5) * 0.5)
        return SampledVoices(style, torch.where(torch.rand(count, device=device) < 0.7, 1.0, scale))

    def sample_styles(self, tokens: int, count: int) -> Tensor:
        """Half built-in voices, a quarter mixtures, a quarter around and beyond them. [count, 256]"""
        quarter = count // 4
        eighth = quarter // 2
        decoder, prosody = (self._mix(tokens, eighth, 3) for _ in "dp")
        crossed = torch.cat([decoder[:, :STYLE], prosody[:, STYLE:]], dim=1)
        crossed = self.centre[tokens] + random.uniform(0.8, 1.6) * (crossed - self.centre[tokens])
        parts = [
            self._mix(tokens, count - 2 * quarter, 1),
            self._mix(tokens, quarter, random.choice((2, 2, 3, 4))),
            crossed,
            self._sample_gaussian(tokens, quarter - eighth, random.uniform(0.7, 1.4)),
        ]
        return torch.cat(parts)


def _orient(axes: Tensor) -> Tensor:
    """Each axis with its largest component positive: linear algebra libraries disagree on the signs."""
    return axes * axes.gather(1, axes.abs().argmax(dim=1, keepdim=True)).sign()
