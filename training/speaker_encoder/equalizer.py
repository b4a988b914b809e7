"""The colour of a voice, and the filter that a clone's speech passes through: as in svc.cloning.colour."""

import math
from functools import cache

import torch
from torch import Tensor

from cloning.sound import BANDS as NARROW_BANDS
from cloning.sound import RATE, log_mel

BANDS = 20
LARGEST = 8.0
"""dB, of a change."""
CUT_OFF = -25.0
"""dB: a band in which a recording has that much less was lost on the way."""
FADING = 14
"""The first band of which less than all is put right."""


@torch.no_grad()
def colour(wave: Tensor) -> Tensor:
    """The power in each band, noise left out, in dB. [B, samples] → [B, 20]"""
    mel = log_mel(wave)
    loudness = mel.mean(dim=2)
    faint = loudness <= loudness.quantile(0.1, dim=1, keepdim=True)
    power = mel.exp()
    speech = power.mean(dim=1)
    noise = (power * faint[..., None]).sum(dim=1) / faint.sum(dim=1, keepdim=True)
    clean = torch.maximum(speech - noise, 0.05 * speech).log()
    return 10 / math.log(10) * clean.unflatten(1, (BANDS, NARROW_BANDS // BANDS)).mean(dim=2)


def coloured(wave: Tensor, person: Tensor) -> Tensor:
    """The speech in the colour of the person [B, 20]; the filter itself has no gradient."""
    off = person - colour(wave)
    off = off - off.median(dim=1, keepdim=True).values
    share = 1 - (torch.arange(BANDS, device=wave.device) - FADING).clamp(min=0) / (BANDS - FADING)
    off = torch.where(off > CUT_OFF, (share * off).clamp(-LARGEST, LARGEST), 0.0)
    gains = 10 ** (off @ _between_bands(wave.shape[1], wave.device) / 20)
    return torch.fft.irfft(torch.fft.rfft(wave) * gains, wave.shape[1])


@cache
def _between_bands(samples: int, device: torch.device) -> Tensor:
    """From what is wanted in the middle of each band to every frequency of that many samples. [20, bins]"""
    lowest, highest = (math.log1p(hertz / 700) for hertz in (20.0, RATE / 2))
    hertz = torch.arange(samples // 2 + 1, device=device) * (RATE / samples)
    place = (torch.log1p(hertz / 700) - lowest) / (highest - lowest) * BANDS - 0.5
    distance = (place.clamp(0, BANDS - 1) - torch.arange(BANDS, device=device)[:, None]).abs()
    return (1 - distance).clamp(min=0)
