"""What the encoder is trained to predict: CAM++'s feature maps, and the embeddings of all speaker networks.

A clip has one embedding but thousands of inner values a second, so an encoder that predicts them through noise
generalises to new speakers. Most of their variance is about what is said. Who says it is in their means over the clip,
a small part of the variance, so these have a loss of their own.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from speaker_encoder.encoder import MAP_NAMES, Embeddings
from speaker_encoder.frozen_losses import SpeakerNetworks


@dataclass
class Targets:
    embeddings: Embeddings
    maps: dict[str, Tensor]


@torch.no_grad()
def compute_targets(networks: SpeakerNetworks, wave: Tensor) -> Targets:
    """Of 16 kHz clips; in bf16 on a GPU, which adds 1 % of noise to each map."""
    with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
        eres2net = networks.eres2net(wave)
        campplus, maps = networks.campplus.with_maps(wave)
    return Targets(Embeddings(eres2net, campplus, networks.dvector(wave)), dict(zip(MAP_NAMES, maps, strict=True)))


@dataclass
class TargetErrors:
    similarity: Embeddings
    """To each network's embedding, the mean of the clips."""
    map_errors: dict[str, Tensor]
    """The share of each map's variance that is not predicted."""
    mean_errors: dict[str, Tensor]
    """The same of the maps' means over time."""

    def loss(self, map_weight: float, mean_weight: float) -> Tensor:
        maps, means = (torch.stack(list(each.values())).mean() for each in (self.map_errors, self.mean_errors))
        distance = sum(1 - cosine for cosine in vars(self.similarity).values())
        return 4 * distance + map_weight * maps + mean_weight * means


class TargetLoss:
    """Scales each channel's error by the channel's spread in the first batch."""

    def __init__(self, targets: Targets) -> None:
        self._scale, self._spread = {}, {}
        for name, target in targets.maps.items():
            values = target.float()  # [B, C, T]
            self._scale[name] = values.transpose(0, 1).flatten(1).std(dim=1).clamp(min=1e-3)
            self._spread[name] = values.mean(dim=2).std(dim=0).clamp(min=0.02 * self._scale[name])

    def compare(self, embeddings: Embeddings, maps: dict[str, Tensor], targets: Targets) -> TargetErrors:
        map_errors, mean_errors = {}, {}
        for name, target in targets.maps.items():
            error = maps[name].float() - target.float()
            map_errors[name] = (error / self._scale[name][:, None]).clamp(-8, 8).square().mean()
            mean_errors[name] = (error.mean(dim=2) / self._spread[name]).clamp(-8, 8).square().mean()
        return TargetErrors(embeddings.similarity(targets.embeddings), map_errors, mean_errors)
