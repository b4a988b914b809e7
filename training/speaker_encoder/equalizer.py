"""The spectral envelope of a voice, and the equalizer that a clone's speech passes: as in svc.audio.equalizer."""

import math
from functools import cache

import torch
from torch import Tensor

from speaker_encoder.features import BANDS as MEL_BANDS
from speaker_encoder.features import RATE, log_mel

BANDS = 20
LARGEST = 8.0
"""dB, of a gain."""
CUT_OFF = -25.0
"""dB: a band in which the recording has that much less was removed by its channel, and is left alone."""
FADING = 14
"""From this band on the gains fade out."""


@torch.no_grad()
def measure_envelope(wave: Tensor) -> Tensor:
    """The power in each band without the noise floor, in dB. [B, samples] → [B, 20]"""
    mel = log_mel(wave)
    loudness = mel.mean(dim=2)
    faint = loudness <= loudness.quantile(0.1, dim=1, keepdim=True)
    power = mel.exp()
    speech = power.mean(dim=1)
    noise = (power * faint[..., None]).sum(dim=1) / faint.sum(dim=1, keepdim=True)
    clean = torch.maximum(speech - noise, 0.05 * speech).log()
    return 10 / math.log(10) * clean.unflatten(1, (BANDS, MEL_BANDS // BANDS)).mean(dim=2)


def equalize(wave: Tensor, target: Tensor) -> Tensor:
    """The speech with the spectral envelope `target` [B, 20]; the filter itself has no gradient."""
    gains = target - measure_envelope(wave)
    gains = gains - gains.median(dim=1, keepdim=True).values
    share = 1 - (torch.arange(BANDS, device=wave.device) - FADING).clamp(min=0) / (BANDS - FADING)
    gains = torch.where(gains > CUT_OFF, (share * gains).clamp(-LARGEST, LARGEST), 0.0)
    response = 10 ** (gains @ _interpolation(wave.shape[1], wave.device) / 20)
    return torch.fft.irfft(torch.fft.rfft(wave) * response, wave.shape[1])


@cache
def _interpolation(samples: int, device: torch.device) -> Tensor:
    """Linear interpolation from the bands' centres to the FFT bins of that many samples. [20, bins]"""
    lowest, highest = (math.log1p(hertz / 700) for hertz in (20.0, RATE / 2))
    hertz = torch.arange(samples // 2 + 1, device=device) * (RATE / samples)
    position = (torch.log1p(hertz / 700) - lowest) / (highest - lowest) * BANDS - 0.5
    distance = (position.clamp(0, BANDS - 1) - torch.arange(BANDS, device=device)[:, None]).abs()
    return (1 - distance).clamp(min=0)
