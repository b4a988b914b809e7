"""The clip buffer: recordings in GPU memory, end to end, from which random augmented crops are taken."""

import math
import random
from dataclasses import dataclass

import torch
from torch import Tensor

from speaker_encoder.augmentation import change_speed, shift_formants
from speaker_encoder.features import normalize_level

LENGTH_STEP = 320
"""Crops are a multiple of this many samples, so that there are few FFT lengths to plan for."""


@dataclass
class ClipBuffer:
    wave: Tensor  # [samples], fp16
    first: Tensor  # [clips]
    length: Tensor  # [clips]
    probability: Tensor  # [clips]

    @classmethod
    def from_clips(cls, waves: list[Tensor], probability: list[float], device: torch.device) -> "ClipBuffer":
        length = torch.tensor([len(wave) for wave in waves], device=device)
        wave = torch.cat([normalize_level(wave[None].float())[0].half() for wave in waves])
        return cls(wave.to(device), length.cumsum(0) - length, length, torch.tensor(probability, device=device))

    def crop(self, count: int, samples: int) -> Tensor:
        """Crops of random clips; short clips are repeated. [count, samples]"""
        device = self.wave.device
        clip = torch.multinomial(self.probability, count, replacement=True)
        room = (self.length[clip] - samples).clamp(min=0) + 1
        start = (torch.rand(count, device=device) * room).long()
        index = (start[:, None] + torch.arange(samples, device=device)) % self.length[clip, None]
        return self.wave[self.first[clip, None] + index].float()

    def crop_augmented(self, count: int, samples: int) -> Tensor:
        """Crops that sound like other speakers: two thirds faster or slower, half with other formants."""
        speed = math.exp(random.uniform(-0.22, 0.22)) if random.random() < 0.67 else 1.0
        wave = self.crop(count, round(samples * speed / LENGTH_STEP) * LENGTH_STEP if speed != 1 else samples)
        wave = change_speed(wave, samples)
        if random.random() < 0.5:
            wave = shift_formants(wave, torch.exp((torch.rand(count, device=wave.device) - 0.5) * 0.34))
        return normalize_level(wave)
