"""The speaker encoder: predicts three speaker embeddings from log-mel frames.

mel ─▶ maps of 80, 40, 20, 10 bands ─▶ three groups of dense layers at 50 Hz, weighted by context
    ─▶ mean, deviation ─▶ CAM++'s embedding (192)
    ├▶ means and deviations of all maps ─▶ ERes2Net's embedding (192)
    └▶ those and the mel's own ─▶ VoiceFilter's d-vector (256)

A few hundred speakers are too few to train it from random weights. Its backbone has the shape of CAM++, starts from its
weights (`load_campplus`), and is trained to be robust to noise, rooms and codecs. ERes2Net and CAM++ ignore the mean
spectrum, which is part of how a voice sounds; the d-vector does not.

ERes2Net's embedding it predicts worst. In what ships, a copy of ERes2Net (`eres2net.py`) takes the place of that head.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.features import BANDS

EMBEDDING = 192
"""Dimensions of ERes2Net's and of CAM++'s embedding."""
DVECTOR = 256
MAP_NAMES = ("maps", "group 1", "group 2", "out")
"""Feature maps that are compared with CAM++'s."""
MAPS, FIRST, GROWTH, INNER = 32, 128, 32, 128
GROUPS = ((12, 1), (24, 2), (16, 2))
"""Number of layers and their dilation."""
CONTEXT = 100
"""Frames (2 s) whose mean weights a layer's output, together with the mean of the clip."""


@dataclass
class Embeddings:
    eres2net: Tensor  # [B, 192], unit length
    campplus: Tensor  # [B, 192]
    dvector: Tensor  # [B, 256]

    def float(self) -> "Embeddings":
        return Embeddings(*(getattr(self, f.name).float() for f in fields(self)))

    @classmethod
    def concatenate(cls, batches: list["Embeddings"]) -> "Embeddings":
        return cls(*(torch.cat([getattr(batch, f.name) for batch in batches]) for f in fields(cls)))

    def similarity(self, other: "Embeddings") -> "Embeddings":
        """Cosines, the mean of the batch."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Embeddings(*((one * another).sum(dim=1).mean() for one, another in pairs))

    @property
    def joint(self) -> Tensor:
        """ERes2Net's and CAM++'s side by side: the embedding that the product keeps. [B, 384]"""
        return torch.cat([self.eres2net, self.campplus], dim=1)


def statistics(x: Tensor) -> Tensor:
    """Mean and deviation over time, in fp32. [B, C, T] → [B, 2 C]"""
    x = x.float()
    mean = x.mean(dim=2)
    variance = (x - mean[..., None]).square().sum(dim=2) / (x.shape[2] - 1)
    return torch.cat([mean, variance.clamp(min=1e-8).sqrt()], dim=1)


class Block(nn.Module):
    """A residual block on maps [B, 32, bands, T]; a stride of 2 halves the bands."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(MAPS, MAPS, 3, (stride, 1), 1, bias=False)
        self.first_norm = nn.BatchNorm2d(MAPS)
        self.second = nn.Conv2d(MAPS, MAPS, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(MAPS)
        self.skip = nn.Identity()
        if stride > 1:
            self.skip = nn.Sequential(nn.Conv2d(MAPS, MAPS, 1, (stride, 1), bias=False), nn.BatchNorm2d(MAPS))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.skip(x))


def context_mean(x: Tensor, segment: Tensor) -> Tensor:
    """At every frame the mean of the clip plus that of its two-second segment. [B, C, T], [T] → [B, C, T]"""
    return x.mean(dim=2, keepdim=True) + F.avg_pool1d(x, CONTEXT, CONTEXT, ceil_mode=True)[..., segment]


class Layer(nn.Module):
    """Appends 32 channels. [B, C, T] → [B, C + 32, T]"""

    def __init__(self, inputs: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(inputs)
        self.narrow = nn.Conv1d(inputs, INNER, 1, bias=False)
        self.inner_norm = nn.BatchNorm1d(INNER)
        self.look = nn.Conv1d(INNER, GROWTH, 3, padding=dilation, dilation=dilation, bias=False)
        self.sum_up = nn.Conv1d(INNER, INNER // 2, 1)
        self.weigh = nn.Conv1d(INNER // 2, GROWTH, 1)

    def forward(self, x: Tensor, segment: Tensor) -> Tensor:
        y = F.relu(self.inner_norm(self.narrow(F.relu(self.norm(x)))))
        weight = torch.sigmoid(self.weigh(F.relu(self.sum_up(context_mean(y, segment)))))
        return torch.cat([x, self.look(y) * weight], dim=1)


class Group(nn.Module):
    """Densely connected layers; the output has half of their channels."""

    def __init__(self, inputs: int, layers: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(inputs + i * GROWTH, dilation) for i in range(layers))
        channels = inputs + layers * GROWTH
        self.norm = nn.BatchNorm1d(channels)
        self.halve = nn.Conv1d(channels, channels // 2, 1, bias=False)

    def forward(self, x: Tensor, segment: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, segment)
        return self.halve(F.relu(self.norm(x)))


class Backbone(nn.Module):
    """The part that starts from CAM++'s weights; its modules are in CAM++'s order."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(1, MAPS, 3, 1, 1, bias=False), nn.BatchNorm2d(MAPS)
        self.blocks = nn.Sequential(Block(2), Block(1), Block(2), Block(1))
        self.last, self.last_norm = nn.Conv2d(MAPS, MAPS, 3, (2, 1), 1, bias=False), nn.BatchNorm2d(MAPS)
        self.entry = nn.Conv1d(MAPS * BANDS // 8, FIRST, 5, 2, 2, bias=False)
        self.entry_norm = nn.BatchNorm1d(FIRST)
        self.groups, channels = nn.ModuleList(), FIRST
        self.map_channels = [MAPS * BANDS // 8]  # of all `MAP_NAMES`
        for layers, dilation in GROUPS:
            self.groups.append(Group(channels, layers, dilation))
            channels = (channels + layers * GROWTH) // 2
            self.map_channels.append(channels)
        self.out_norm = nn.BatchNorm1d(channels)
        self.campplus = nn.Conv1d(2 * channels, EMBEDDING, 1, bias=False)
        self.campplus_norm = nn.BatchNorm1d(EMBEDDING, affine=False)
        self.channels = channels

    def forward(self, mel: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """CAM++'s embedding [B, 192], the statistics it is computed from, and the maps of all `MAP_NAMES`."""
        x = F.relu(self.stem_norm(self.stem((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2)[:, None])))
        x = F.relu(self.last_norm(self.last(self.blocks(x)))).flatten(1, 2)
        maps = [x]
        x = F.relu(self.entry_norm(self.entry(x)))
        segment = torch.arange(x.shape[2], device=x.device) // CONTEXT
        for group in self.groups:
            x = group(x, segment)
            maps.append(x)
        maps[-1] = F.relu(self.out_norm(x))
        pooled = statistics(maps[-1])
        return self.campplus_norm(self.campplus(pooled[..., None]).squeeze(2)), pooled, maps


class EmbeddingHead(nn.Module):
    """Predicts another network's embedding from the statistics of all maps."""

    WIDTH = 512

    def __init__(self, last: int, everything: int, outputs: int) -> None:
        super().__init__()
        self.direct = nn.Linear(last, outputs)
        self.norm = nn.LayerNorm(everything)
        self.narrow = nn.Linear(everything, self.WIDTH)
        self.more = nn.Linear(self.WIDTH, outputs)
        nn.init.zeros_(self.more.weight)
        nn.init.zeros_(self.more.bias)

    def forward(self, last: Tensor, everything: Tensor) -> Tensor:
        return F.normalize(self.direct(last) + self.more(F.gelu(self.narrow(self.norm(everything)))), dim=1)


class SpeakerEncoder(nn.Module):
    def __init__(self, eres2net_copy: nn.Module | None = None) -> None:
        """With a copy of ERes2Net, its embedding is the copy's and not the head's."""
        super().__init__()
        self.backbone, self.eres2net_copy = Backbone(), eres2net_copy
        last, everything = EMBEDDING + 2 * self.backbone.channels, 2 * sum(self.backbone.map_channels)
        self.eres2net = EmbeddingHead(last, everything, EMBEDDING)
        self.dvector = EmbeddingHead(last + 2 * BANDS, everything + 2 * BANDS, DVECTOR)

    def load_campplus(self, campplus: nn.Module) -> None:
        """Copies CAM++'s weights into the backbone."""
        own, theirs = self.backbone.state_dict(), list(campplus.state_dict().values())
        assert [value.shape for value in own.values()] == [value.shape for value in theirs]
        self.backbone.load_state_dict(dict(zip(own, theirs, strict=True)))

    def forward(self, mel: Tensor) -> Embeddings:
        return self.encode_with_maps(mel)[0]

    def encode_with_maps(self, mel: Tensor) -> tuple[Embeddings, dict[str, Tensor]]:
        """`mel` [B, T, 80] of a clip at the normal level → embeddings, and the maps of all `MAP_NAMES`."""
        campplus, pooled, maps = self.backbone(mel)
        last = torch.cat([campplus, pooled], dim=1)
        everything = torch.cat([*(statistics(each) for each in maps[:-1]), pooled], dim=1)
        spectrum = statistics(mel.transpose(1, 2) / 4 + 2)  # scaled to about the range of the others
        embeddings = Embeddings(
            self.eres2net_copy(mel) if self.eres2net_copy else self.eres2net(last, everything),
            F.normalize(campplus, dim=1),
            self.dvector(torch.cat([last, spectrum], dim=1), torch.cat([everything, spectrum], dim=1)),
        )
        return embeddings, dict(zip(MAP_NAMES, maps, strict=True))
