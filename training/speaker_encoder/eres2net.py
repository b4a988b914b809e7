"""A copy of ERes2Net, which is trained further to hear through noise, rooms and telephones (`train_eres2net.py`).

mel ─▶ four stages of maps: 64 × 80 bands, 128 × 40, 256 × 20, 512 × 10, each at half the rate of the one before
     ─▶ every stage is fused with those before it ─▶ mean, deviation ─▶ embedding (192)

It starts from ERes2Net's weights; the modules are in its order. ERes2Net's own ReLUs end at 20, which nothing reaches.
"""

import copy
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from speaker_encoder.encoder import EMBEDDING, statistics
from speaker_encoder.features import BANDS
from speaker_encoder.rounding import round_rows

STEM = 32
STAGES = ((32, 3, False), (64, 4, False), (128, 6, True), (256, 3, True))
"""Maps inside of a block (its output has twice as many), blocks, and whether their halves are fused."""


class Fusion(nn.Module):
    """Two maps weighted against each other, by what both of them are. [B, C, bands, T] each → the same"""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.narrow, self.narrow_norm = nn.Conv2d(2 * channels, channels // 4, 1), nn.BatchNorm2d(channels // 4)
        self.weigh, self.weigh_norm = nn.Conv2d(channels // 4, channels, 1), nn.BatchNorm2d(channels)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        inner = F.silu(self.narrow_norm(self.narrow(torch.cat([one, other], dim=1))))
        weight = torch.tanh(self.weigh_norm(self.weigh(inner)))
        return one * (1 + weight) + other * (1 - weight)


class Block(nn.Module):
    """A residual block in which the second half of the maps also sees what became of the first."""

    def __init__(self, inputs: int, maps: int, stride: int, *, fused: bool) -> None:
        super().__init__()
        half = maps // 2
        self.narrow, self.narrow_norm = nn.Conv2d(inputs, maps, 1, stride, bias=False), nn.BatchNorm2d(maps)
        self.looks = nn.ModuleList(nn.Conv2d(half, half, 3, padding=1, bias=False) for _ in range(2))
        self.look_norms = nn.ModuleList(nn.BatchNorm2d(half) for _ in range(2))
        self.fusion = Fusion(half) if fused else None
        self.widen, self.widen_norm = nn.Conv2d(maps, 2 * maps, 1, bias=False), nn.BatchNorm2d(2 * maps)
        self.skip = nn.Sequential()
        if stride > 1 or inputs != 2 * maps:
            self.skip = nn.Sequential(nn.Conv2d(inputs, 2 * maps, 1, stride, bias=False), nn.BatchNorm2d(2 * maps))

    def forward(self, x: Tensor) -> Tensor:
        first, second = F.relu(self.narrow_norm(self.narrow(x))).chunk(2, dim=1)
        first = F.relu(self.look_norms[0](self.looks[0](first)))
        second = first + second if self.fusion is None else self.fusion(first, second)
        second = F.relu(self.look_norms[1](self.looks[1](second)))
        widened = self.widen_norm(self.widen(torch.cat([first, second], dim=1)))
        return F.relu(widened + self.skip(x))


class ERes2Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(1, STEM, 3, padding=1, bias=False), nn.BatchNorm2d(STEM)
        self.stages, inputs = nn.ModuleList(), STEM
        for number, (maps, blocks, fused) in enumerate(STAGES):
            strides = [1 if number == 0 else 2, *[1] * (blocks - 1)]
            stage = []
            for stride in strides:
                stage.append(Block(inputs, maps, stride, fused=fused))
                inputs = 2 * maps
            self.stages.append(nn.Sequential(*stage))
        widths = [2 * maps for maps, *_ in STAGES]
        self.halve = nn.ModuleList(nn.Conv2d(width, 2 * width, 3, 2, 1, bias=False) for width in widths[:-1])
        self.fuse = nn.ModuleList(Fusion(width) for width in widths[1:])
        self.embedding = nn.Linear(2 * widths[-1] * BANDS // 8, EMBEDDING)

    def forward(self, mel: Tensor) -> Tensor:
        """Log-mel frames [B, T, 80] → a unit embedding [B, 192]"""
        return self.embed_with_map(mel)[0]

    def embed_with_map(self, mel: Tensor) -> tuple[Tensor, Tensor]:
        """Also the last map [B, 5120, T / 8], whose mean and deviation the embedding is computed from."""
        x = (mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2)[:, None]
        x = F.relu(self.stem_norm(self.stem(x)))
        fused = x = self.stages[0](x)
        for stage, halve, fuse in zip(self.stages[1:], self.halve, self.fuse, strict=True):
            x = stage(x)
            fused = fuse(x, halve(fused))
        last = fused.flatten(1, 2)
        return F.normalize(self.embedding(statistics(last)), dim=1), last


def load_original(path: Path) -> ERes2Net:
    """From ERes2Net's own state dict."""
    network, theirs = ERes2Net(), list(torch.load(path, map_location="cpu").values())
    own = network.state_dict()
    assert [value.shape for value in own.values()] == [value.shape for value in theirs]
    network.load_state_dict(dict(zip(own, theirs, strict=True)))
    return network.eval().requires_grad_(False)


def prepare(network: ERes2Net) -> ERes2Net:
    """As it ships: without norms, and with rounded weights."""
    shipped = fold_norms(network)
    for weight in shipped.parameters():
        if weight.dim() > 1:
            rounded, scale = round_rows(weight.numpy())
            weight.copy_(torch.from_numpy(rounded * scale))
    return shipped


def make_folded() -> ERes2Net:
    """An untrained one without norms."""
    return fold_norms(ERes2Net().eval())


def fold_norms(network: ERes2Net) -> ERes2Net:
    """The same network with its norms, which only scale and add, in the convolutions before them."""
    folded = copy.deepcopy(network)
    for name, convolution in list(folded.named_modules()):
        norm = _find_norm(name)
        if isinstance(convolution, nn.Conv2d) and norm in dict(network.named_modules()):
            fused = fuse_conv_bn_eval(convolution, folded.get_submodule(norm))
            folded.set_submodule(name, fused)
            folded.set_submodule(norm, nn.Identity())
    return folded.requires_grad_(False)


def _find_norm(convolution: str) -> str:
    """The name of the norm behind a convolution."""
    if convolution.endswith("skip.0"):
        return convolution.removesuffix("0") + "1"
    return convolution.replace("looks", "look_norms") if "looks" in convolution else f"{convolution}_norm"


def save(network: ERes2Net, path: Path) -> None:
    """In fp16."""
    weights = network.state_dict()
    torch.save({name: v.half() if v.is_floating_point() else v for name, v in weights.items()}, path)


def load(path: Path) -> ERes2Net:
    network = ERes2Net()
    network.load_state_dict(torch.load(path, map_location="cpu"))
    return network.eval().requires_grad_(False)
