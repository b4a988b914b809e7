"""The ear: hears who speaks. It learns what ERes2Net and CAM++ do with a sound, stage by stage.

mel ─▶ stem ─┬─▶ two-dimensional stages, 40, 20, 10 bands (as ERes2Net has them) ─▶ mean, deviation ─▶ 192
             └─▶ bands flattened, dilated layers at 50 Hz (as CAM++ has them)    ─▶ mean, deviation ─▶ 192
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.sound import BANDS

EMBEDDING = 192
"""Of ERes2Net and of CAM++ alike."""
PLACES = ("e1", "e2", "e3", "c0", "c1", "c2", "c3")
"""Where the ear is compared with the two networks: `e1` is ERes2Net's second stage, `c0` CAM++'s first."""


@dataclass(frozen=True)
class EarSize:
    maps: tuple[int, int, int] = (64, 128, 256)
    blocks: tuple[int, int, int] = (2, 4, 4)
    bands: int = 32
    """Channels that each of ten bands keeps on the way to the layers."""
    width: int = 384
    inner: int = 128
    layers: tuple[int, int, int] = (4, 7, 5)
    out: int = 512


@dataclass
class Heard:
    eres2net: Tensor  # [B, 192], unit length
    campplus: Tensor
    balance: Tensor  # [B, 80]: the long-term spectrum

    def float(self) -> "Heard":
        return Heard(*(getattr(self, f.name).float() for f in fields(self)))


def balance(mel: Tensor) -> Tensor:
    """The mean spectrum, whatever the level. [B, T, 80] → [B, 80]"""
    mean = mel.mean(dim=1)
    return mean - mean.mean(dim=1, keepdim=True)


def statistics(x: Tensor) -> Tensor:
    """Mean and deviation over time, in fp32. [B, C, T] → [B, 2 C]"""
    x = x.float()
    mean = x.mean(dim=2)
    deviation = (x - mean[..., None]).square().mean(dim=2).clamp(min=1e-5).sqrt()
    return torch.cat([mean, deviation], dim=1)


def conv2d(inputs: int, outputs: int, kernel: int, stride: int | tuple[int, int] = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def conv1d(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv1d(inputs, outputs, 1, bias=False), nn.BatchNorm1d(outputs), nn.ReLU())


class Block(nn.Module):
    """A residual step on a map [B, C, bands, T], all convolution: a pattern is learnt once for all bands."""

    def __init__(self, inputs: int, outputs: int, stride: int | tuple[int, int] = 1) -> None:
        super().__init__()
        inner = outputs // 2
        self.narrow, self.look = conv2d(inputs, inner, 1), conv2d(inner, inner, 3, stride)
        self.widen = nn.Sequential(nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Identity()
        if inputs != outputs or stride != 1:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.widen(self.look(self.narrow(x))) + self.skip(x))


class Layer(nn.Module):
    """A residual step on frames [B, C, T]; the whole clip weighs its channels."""

    def __init__(self, width: int, inner: int, dilation: int) -> None:
        super().__init__()
        self.narrow = conv1d(width, inner)
        self.look = nn.Conv1d(inner, inner, 3, padding=dilation, dilation=dilation)
        self.weigh = nn.Sequential(nn.Linear(inner, inner // 2), nn.ReLU(), nn.Linear(inner // 2, inner), nn.Sigmoid())
        self.widen = nn.Sequential(nn.Conv1d(inner, width, 1, bias=False), nn.BatchNorm1d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.narrow(x)
        return F.relu(x + self.widen(self.look(y) * self.weigh(y.mean(dim=2))[..., None]))


def stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    return nn.Sequential(Block(inputs, outputs, stride), *(Block(outputs, outputs) for _ in range(blocks - 1)))


class Ear(nn.Module):
    def __init__(self, size: EarSize | None = None) -> None:
        super().__init__()
        self.size = size = size or EarSize()
        first, second, third = size.maps
        self.stem = conv2d(1, first // 2, 5, 2)
        self.stages = nn.ModuleList(
            stage(inputs, outputs, blocks, stride)
            for inputs, outputs, blocks, stride in zip(
                (first // 2, first, second), size.maps, size.blocks, (1, 2, 2), strict=True
            )
        )
        self.bands = nn.Sequential(Block(first, 2 * size.bands, (2, 1)), conv2d(2 * size.bands, size.bands, 3, (2, 1)))
        self.entry = conv1d(size.bands * BANDS // 8, size.width)
        self.groups = nn.ModuleList(
            nn.Sequential(*(Layer(size.width, size.inner, dilation) for _ in range(count)))
            for count, dilation in zip(size.layers, (1, 2, 2), strict=True)
        )
        self.out = conv1d(size.width, size.out)
        self.eres2net = nn.Linear(2 * third * BANDS // 8, EMBEDDING)
        self.campplus = nn.Linear(2 * size.out, EMBEDDING)

    def forward(self, mel: Tensor) -> Heard:
        return self.listen(mel)[0]

    def listen(self, mel: Tensor) -> tuple[Heard, dict[str, Tensor]]:
        """`mel` [B, T, 80] of a clip at the usual level. Also the maps at all `PLACES`."""
        x = self.stem((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2)[:, None] / 3.0)
        maps = []
        for each in self.stages:
            x = each(x)
            maps.append(x)
        eres2net = self.eres2net(statistics(x.flatten(1, 2)))
        frames = [self.bands(maps[0]).flatten(1, 2)]
        y = self.entry(frames[0])
        for group in self.groups:
            y = group(y)
            frames.append(y)
        frames[-1] = self.out(y)
        campplus = self.campplus(statistics(frames[-1]))
        heard = Heard(F.normalize(eres2net, dim=1), F.normalize(campplus, dim=1), balance(mel))
        return heard, dict(zip(PLACES, maps + frames, strict=True))
