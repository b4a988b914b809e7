"""Sounds on the card, end to end, of which random stretches are taken, mostly disguised."""

import math
import random
from dataclasses import dataclass

import torch
from torch import Tensor

from cloning.disguise import stretched, with_formants
from cloning.sound import level

GRAIN = 320
"""Stretches are a multiple of this many samples, so that there are few lengths to plan transforms for."""


@dataclass
class Tape:
    wave: Tensor  # [samples], fp16
    first: Tensor  # [clips]
    length: Tensor  # [clips]
    chance: Tensor  # [clips]

    @classmethod
    def of(cls, waves: list[Tensor], chance: list[float], device: torch.device) -> "Tape":
        length = torch.tensor([len(wave) for wave in waves], device=device)
        leveled = torch.cat([level(wave[None].float())[0].half() for wave in waves])
        return cls(leveled.to(device), length.cumsum(0) - length, length, torch.tensor(chance, device=device))

    def crop(self, count: int, samples: int) -> Tensor:
        """Stretches of random clips, short clips repeated. [count, samples]"""
        device = self.wave.device
        clip = torch.multinomial(self.chance, count, replacement=True)
        room = (self.length[clip] - samples).clamp(min=0) + 1
        start = (torch.rand(count, device=device) * room).long()
        place = (start[:, None] + torch.arange(samples, device=device)) % self.length[clip, None]
        return self.wave[self.first[clip, None] + place].float()

    def disguised(self, count: int, samples: int) -> Tensor:
        """Two thirds faster or slower, half with other formants, a sixth as recorded."""
        pace = math.exp(random.uniform(-0.22, 0.22)) if random.random() < 0.67 else 1.0
        wave = self.crop(count, round(samples * pace / GRAIN) * GRAIN if pace != 1 else samples)
        wave = stretched(wave, samples)
        if random.random() < 0.5:
            wave = with_formants(wave, torch.exp((torch.rand(count, device=wave.device) - 0.5) * 0.34))
        return level(wave)


def spliced(wave: Tensor, share: float) -> Tensor:
    """Some of the clips go on with another's sound: what is heard in one place is about that place."""
    count, samples = wave.shape
    other = wave[torch.randperm(count, device=wave.device)]
    cut = (torch.rand(count, 1, device=wave.device) * 0.6 + 0.2) * samples
    after = torch.arange(samples, device=wave.device) > cut
    chosen = torch.rand(count, 1, device=wave.device) < share
    return torch.where(after & chosen, other, wave)
