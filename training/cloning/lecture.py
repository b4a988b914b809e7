"""What the ear is taught: the maps inside ERes2Net and CAM++, and their embeddings.

A clip has one embedding but thousands of inner values a second, and those are about sounds, not about people: an ear
that gets them right hears new people as the networks do. Most of what the values tell is what is said, though. Who
says it is in their means over the clip, which are a small part of their variance, and are asked for by themselves.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.ear import EMBEDDING, PLACES, Ear, Heard
from cloning.judges import Judges

CHANNELS = {"e1": 128, "e2": 256, "e3": 512, "c0": 320, "c1": 256, "c2": 512, "c3": 512}
"""Of the two networks' maps at each place."""


@dataclass
class Taught:
    """The networks' account of a clip."""

    embedding: Tensor  # [B, 384]
    maps: dict[str, Tensor]


@torch.no_grad()
def teach(judges: Judges, wave: Tensor) -> Taught:
    """Both networks' account of 16 kHz clips, in bf16 where there is a card: of each map 1 % is noise then."""
    with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
        eres2net, first = judges.eres2net.with_maps(wave)
        campplus, second = judges.campplus.with_maps(wave)
    maps = dict(zip(PLACES, [*first, *second], strict=True))
    maps["c0"] = F.avg_pool1d(maps["c0"], 2, ceil_mode=True)  # CAM++ halves the rate one layer later
    return Taught(torch.cat([eres2net, campplus], dim=1), maps)


@dataclass
class Marks:
    likeness_e: Tensor
    likeness_c: Tensor
    unexplained: dict[str, Tensor]
    """The share of each map's variance that the ear does not predict."""
    confused: dict[str, Tensor]
    """The same of the maps' means over time."""

    def loss(self, inner: float, steady: float) -> Tensor:
        unexplained, confused = (torch.stack(list(each.values())).mean() for each in (self.unexplained, self.confused))
        return 2 - self.likeness_e - self.likeness_c + inner * unexplained + steady * confused


class Lecture(nn.Module):
    """Reads the networks' maps off the ear's, by one matrix a place; it stays behind when the ear is done."""

    def __init__(self, ear: Ear) -> None:
        super().__init__()
        with torch.no_grad():
            _, maps = ear.eval().listen(torch.randn(1, 64, 80))
        ear.train()
        self.readers = nn.ModuleDict()
        for place, channels in CHANNELS.items():
            kind = nn.Conv2d if maps[place].dim() == 4 else nn.Conv1d
            self.readers[place] = kind(maps[place].shape[1], channels, 1)
            self.register_buffer(f"{place}_mean", torch.zeros(channels))
            self.register_buffer(f"{place}_scale", torch.zeros(channels))
            self.register_buffer(f"{place}_spread", torch.ones(channels))

    @property
    def measured(self) -> bool:
        return bool(self.e1_scale.any())

    def measure(self, taught: Taught) -> None:
        """Sets each channel's scale by these clips. Call it once, with a varied batch."""
        for place, wanted in taught.maps.items():
            values = wanted.float().transpose(0, 1)  # [C, B, (bands,) T]
            scale = values.flatten(1).std(dim=1).clamp(min=1e-3)
            spread = values.mean(dim=-1).std(dim=1).reshape(len(values), -1).square().mean(dim=1).sqrt()
            getattr(self, f"{place}_mean").copy_(values.flatten(1).mean(dim=1))
            getattr(self, f"{place}_scale").copy_(scale)
            getattr(self, f"{place}_spread").copy_((spread / scale).clamp(min=0.02))

    def forward(self, heard: Heard, maps: dict[str, Tensor], taught: Taught) -> Marks:
        unexplained, confused = {}, {}
        for place, reader in self.readers.items():
            wanted, shape = taught.maps[place], (-1, *[1] * (maps[place].dim() - 2))
            mean, scale = getattr(self, f"{place}_mean"), getattr(self, f"{place}_scale")
            wanted = ((wanted - mean.view(shape)) / scale.view(shape)).clamp(-8, 8)
            off = reader(maps[place]).float() - wanted.float()
            unexplained[place] = off.square().mean()
            spread = getattr(self, f"{place}_spread").view(shape[:-1])
            confused[place] = (off.mean(dim=-1) / spread).square().mean()
        own = torch.cat([heard.eres2net, heard.campplus], dim=1).float()
        likeness = (own * taught.embedding).unflatten(1, (2, EMBEDDING)).sum(dim=2).mean(dim=0)
        return Marks(likeness[0], likeness[1], unexplained, confused)
