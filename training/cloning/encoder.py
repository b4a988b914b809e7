"""The voice encoder: log-mel frames and the pitch of a clip → an embedding of the speaker and voice parameters."""

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.sound import BANDS

EMBEDDING = 192
"""Of ERes2Net and of CAM++: the encoder learns both."""
STYLE, LAYERS = 128, 11
PITCH = 3


@dataclass(frozen=True)
class EncoderSize:
    stem: int = 32
    width: int = 384
    inner: int = 640
    blocks: int = 6
    mapper: int = 512
    mapper_blocks: int = 3
    axes: int = 106


@dataclass
class Heard:
    eres2net: Tensor  # [B, 192], unit length
    campplus: Tensor
    frames: Tensor  # [B, T / 8, 384]: the two networks' frame-wise contributions
    balance: Tensor  # [B, 80]: the long-term spectrum

    def float(self) -> "Heard":
        return Heard(*(getattr(self, f.name).float() for f in fields(self)))


@dataclass
class Guess:
    """Coordinates of a voice: on the axes of the built-in voices, and off them."""

    axes: Tensor  # [B, 106], in units of the voices' spread
    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B, 128]
    layers: Tensor  # [B, 11, 128]
    log_pitch_scale: Tensor  # [B]


class Residual2d(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, (1, 2), 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1, (1, 2), bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.skip(x))


class Block(nn.Module):
    """ConvNeXt with a squeeze: channels are weighed by the mean over the clip."""

    def __init__(self, size: EncoderSize, dilation: int) -> None:
        super().__init__()
        width = size.width
        self.depthwise = nn.Conv1d(width, width, 7, padding=3 * dilation, dilation=dilation, groups=width)
        self.norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, size.inner)
        self.squeeze = nn.Sequential(nn.Linear(width, 48), nn.ReLU(), nn.Linear(48, width))
        self.contract = nn.Linear(size.inner, width)
        self.scale = nn.Parameter(torch.full((width,), 0.3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x.transpose(1, 2)).transpose(1, 2))
        y = y * torch.sigmoid(self.squeeze(y.mean(dim=1, keepdim=True)))
        return x + self.scale * self.contract(F.relu(self.expand(y)))


class Trunk(nn.Module):
    """Hears who speaks."""

    def __init__(self, size: EncoderSize) -> None:
        super().__init__()
        c, width = size.stem, size.width
        self.entry = nn.Sequential(nn.Conv2d(1, c, 3, (1, 2), 1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.stem = nn.Sequential(Residual2d(c, c), Residual2d(c, 2 * c))
        self.narrow = nn.Conv1d(2 * c * BANDS // 8, width, 3, 2, 1)
        self.blocks = nn.ModuleList(Block(size, dilation) for dilation in (1, 2, 3, 1, 2, 3, 1, 2)[: size.blocks])
        self.norm = nn.LayerNorm(width)
        self.frames = nn.Linear(width, 2 * EMBEDDING)
        self.widen = nn.Linear(width, 3 * width // 2)
        self.attention = nn.Sequential(nn.Linear(3 * width // 2, 96), nn.Tanh(), nn.Linear(96, 3 * width // 2))
        self.embed = nn.Linear(3 * width, 2 * EMBEDDING)

    def forward(self, mel: Tensor) -> Heard:
        """`mel` [B, T, 80] of a clip at the usual level."""
        average = mel.mean(dim=1, keepdim=True)
        x = self.stem(self.entry((mel - average)[:, None] / 3.0))
        x = self.narrow(x.transpose(2, 3).flatten(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        y = F.relu(self.widen(x))
        weight = torch.softmax(self.attention(y), dim=1)
        mean = (weight * y).sum(dim=1)
        deviation = ((weight * y * y).sum(dim=1) - mean * mean).clamp(min=1e-5).sqrt()
        eres2net, campplus = self.embed(torch.cat([mean, deviation], dim=1)).chunk(2, dim=1)
        pooled = F.avg_pool1d(self.frames(x).transpose(1, 2), 4, ceil_mode=True).transpose(1, 2)
        return Heard(F.normalize(eres2net, dim=1), F.normalize(campplus, dim=1), pooled, balance(mel))


def balance(mel: Tensor) -> Tensor:
    """The mean spectrum, whatever the level. [B, T, 80] → [B, 80]"""
    mean = mel.mean(dim=1)
    return mean - mean.mean(dim=1, keepdim=True)


class Mapper(nn.Module):
    """Who somebody is → how svc speaks like them."""

    def __init__(self, size: EncoderSize) -> None:
        super().__init__()
        width = size.mapper
        self.entry = nn.Linear(2 * EMBEDDING + PITCH + BANDS, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1), nn.Linear(width, width)
            )
            for _ in range(size.mapper_blocks)
        )
        self.norm = nn.LayerNorm(width)
        self.axes = nn.Linear(width, size.axes)
        self.free = nn.Linear(width, (2 + LAYERS) * STYLE)
        self.pitch = nn.Linear(width, 1)
        for tensor in (self.free.weight, self.free.bias, self.pitch.weight, self.pitch.bias):
            nn.init.zeros_(tensor)

    def inputs(self, heard: Heard, pitch: Tensor) -> Tensor:
        """All that a voice is made from, in one vector, so that two of them can be mixed. [B, 467]"""
        scale = math.sqrt(EMBEDDING)
        log_pitch, spread, share = pitch.unbind(1)
        curves = torch.stack([(log_pitch - 5.1) * 3, spread * 5, share], dim=1)
        return torch.cat([heard.eres2net * scale, heard.campplus * scale, curves, heard.balance / 3], dim=1)

    def forward(self, inputs: Tensor) -> Guess:
        x = self.entry(inputs)
        for block in self.blocks:
            x = x + block(x)
        x = self.norm(x)
        # Off the axes a small step is heard at once: these weights learn ten times slower.
        free = 0.1 * self.free(x).unflatten(1, (2 + LAYERS, STYLE))
        return Guess(self.axes(x), free[:, 0], free[:, 1], free[:, 2:], self.pitch(x).squeeze(1))


class Encoder(nn.Module):
    def __init__(self, size: EncoderSize | None = None) -> None:
        super().__init__()
        self.size = size = size or EncoderSize()
        self.trunk = Trunk(size)
        self.mapper = Mapper(size)

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Heard, Guess]:
        heard = self.trunk(mel)
        return heard, self.mapper(self.mapper.inputs(heard, pitch))


def save(encoder: Encoder, path: Path) -> None:
    weights = {k: v.half() if v.is_floating_point() else v for k, v in encoder.state_dict().items()}
    torch.save({"size": asdict(encoder.size), "weights": weights}, path)


def load(path: Path) -> Encoder:
    saved = torch.load(path, map_location="cpu")
    encoder = Encoder(EncoderSize(**saved["size"]))
    encoder.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in saved["weights"].items()})
    return encoder.eval()
