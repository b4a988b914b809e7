"""The voice encoder: an ear that hears who speaks, and a mapper that makes voice parameters of it."""

from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from cloning.axes import Axes
from cloning.ear import Ear, EarSize, Heard
from cloning.mapper import Guess, Mapper, MapperSize, inputs


class Encoder(nn.Module):
    def __init__(self, ear: Ear, mapper: Mapper, axes: Axes) -> None:
        super().__init__()
        self.ear, self.mapper, self.axes = ear, mapper, axes

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Heard, Guess]:
        heard = self.ear(mel)
        return heard, self.mapper(inputs(heard, pitch))

    @property
    def size(self) -> dict[str, dict[str, object]]:
        return {"ear": asdict(self.ear.size), "mapper": asdict(self.mapper.size)}


def save(module: nn.Module, size: object, path: Path) -> None:
    """In fp16, but the axes; the file appears whole, for the process beside this one."""
    weights = {k: v if k.startswith("axes.") else halved(v) for k, v in module.state_dict().items()}
    torch.save({"size": size, "weights": weights}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def load_ear(path: Path) -> Ear:
    saved = torch.load(path, map_location="cpu")
    ear = Ear(EarSize(**saved["size"]))
    ear.load_state_dict(floats(saved["weights"]))
    return ear.eval()


def load(path: Path) -> Encoder:
    saved = torch.load(path, map_location="cpu")
    ear, mapper = Ear(EarSize(**saved["size"]["ear"])), Mapper(MapperSize(**saved["size"]["mapper"]))
    encoder = Encoder(ear, mapper, Axes())
    encoder.load_state_dict(floats(saved["weights"]))
    return encoder.eval()


def halved(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value


def floats(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k: v.float() if v.is_floating_point() else v for k, v in weights.items()}
