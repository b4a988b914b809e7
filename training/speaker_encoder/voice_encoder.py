"""The voice encoder: an ear that hears who speaks, and a mapper that makes voice parameters of it."""

from pathlib import Path

import torch
from torch import Tensor, nn

from cloning.axes import Axes
from cloning.ear import Ear, Heard
from cloning.mapper import WIDTH, Guess, Mapper, inputs


class Encoder(nn.Module):
    def __init__(self, ear: Ear, mapper: Mapper, axes: Axes) -> None:
        super().__init__()
        self.ear, self.mapper, self.axes = ear, mapper, axes

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Heard, Guess]:
        heard = self.ear(mel)
        return heard, self.mapper(inputs(heard, pitch))


def save_ear(ear: Ear, path: Path) -> None:
    _save(ear.state_dict(), path)


def save_mapper(encoder: Encoder, path: Path) -> None:
    """The mapper, and the axes it guesses on."""
    _save({k: v for k, v in encoder.state_dict().items() if not k.startswith("ear.")}, path)


def load_ear(path: Path) -> Ear:
    ear = Ear()
    ear.load_state_dict(_load(path))
    return ear.eval()


def load_mapper(path: Path) -> Encoder:
    """A mapper and its axes, with an ear that has learned nothing."""
    weights = _load(path)
    encoder = Encoder(Ear(), Mapper(len(weights["mapper.entry.bias"]) // WIDTH), Axes())
    _, unexpected = encoder.load_state_dict(weights, strict=False)
    assert not unexpected
    return encoder.eval()


def load(ear: Path, mapper: Path) -> Encoder:
    encoder = load_mapper(mapper)
    encoder.ear = load_ear(ear)
    return encoder


def _save(weights: dict[str, Tensor], path: Path) -> None:
    """In fp16, but the axes; the file appears whole, for the process beside this one."""
    halved = {k: v.half() if v.is_floating_point() and not k.startswith("axes.") else v for k, v in weights.items()}
    torch.save(halved, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def _load(path: Path) -> dict[str, Tensor]:
    weights = torch.load(path, map_location="cpu")
    return {k: v.float() if v.is_floating_point() else v for k, v in weights.items()}
