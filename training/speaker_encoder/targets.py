"""What the ear is taught: the maps inside CAM++, and what the speaker networks say of a clip.

A clip has one embedding but thousands of inner values a second. They are about sounds, not about people: an ear that
gets them right through noise hears new people right. Most of what the values tell is what is said, though. Who says it
is in their means over the clip, which are a small part of their variance, and are asked for by themselves.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from cloning.ear import PLACES, Heard
from cloning.judges import Networks


@dataclass
class Taught:
    """The networks' account of a clip."""

    heard: Heard
    maps: dict[str, Tensor]


@torch.no_grad()
def teach(networks: Networks, wave: Tensor) -> Taught:
    """The networks' account of 16 kHz clips, in bf16 where there is a card: of each map 1 % is noise then."""
    with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
        eres2net = networks.eres2net(wave)
        campplus, maps = networks.campplus.with_maps(wave)
    return Taught(Heard(eres2net, campplus, networks.dvector(wave)), dict(zip(PLACES, maps, strict=True)))


@dataclass
class Marks:
    likeness: Heard
    """To what each network says, the mean of the clips."""
    unexplained: dict[str, Tensor]
    """The share of each map's variance that the ear does not predict."""
    confused: dict[str, Tensor]
    """The same of the maps' means over time."""

    def loss(self, inner: float, steady: float) -> Tensor:
        unexplained, confused = (torch.stack(list(each.values())).mean() for each in (self.unexplained, self.confused))
        unlike = sum(1 - alike for alike in vars(self.likeness).values())
        return 4 * unlike + inner * unexplained + steady * confused


class Lecture:
    """Compares the ear with the networks, by how much each channel varies in the first clips that are taught."""

    def __init__(self, taught: Taught) -> None:
        self._scale, self._spread = {}, {}
        for place, wanted in taught.maps.items():
            values = wanted.float()  # [B, C, T]
            self._scale[place] = values.transpose(0, 1).flatten(1).std(dim=1).clamp(min=1e-3)
            self._spread[place] = values.mean(dim=2).std(dim=0).clamp(min=0.02 * self._scale[place])

    def mark(self, heard: Heard, maps: dict[str, Tensor], taught: Taught) -> Marks:
        unexplained, confused = {}, {}
        for place, wanted in taught.maps.items():
            off = maps[place].float() - wanted.float()
            unexplained[place] = (off / self._scale[place][:, None]).clamp(-8, 8).square().mean()
            confused[place] = (off.mean(dim=2) / self._spread[place]).clamp(-8, 8).square().mean()
        return Marks(heard.likeness(taught.heard), unexplained, confused)
