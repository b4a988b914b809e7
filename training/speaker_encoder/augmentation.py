"""What happens to a recording before it is uploaded, done to a batch of clips on the card."""

import math
import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.sound import RATE

BINS = 2049
"""Of a filter, 4 Hz apart."""


def damaged(wave: Tensor, others: Tensor) -> Tensor:
    """Each clip gets its own mishaps, a quarter of them none. `others` [n, samples] talk in the background."""
    spoilt = level_steps(wave)
    spoilt = _some(spoilt, rooms, 0.35)
    spoilt = _some(spoilt, equalise, 0.5)
    spoilt = _some(spoilt, lambda x: add_noise(x, others), 0.55)
    spoilt = _some(spoilt, clip, 0.15)
    spoilt = _some(spoilt, telephone, 0.4)
    spoilt = _some(spoilt, compress, 0.25)
    untouched = torch.rand(len(wave), 1, device=wave.device) < 0.25
    return torch.where(untouched, wave, spoilt)


def as_recorded(wave: Tensor) -> Tensor:
    return wave


def _some(wave: Tensor, change: Callable[[Tensor], Tensor], share: float) -> Tensor:
    chosen = (torch.rand(len(wave)) < share).nonzero().squeeze(1).to(wave.device)
    if len(chosen) == 0:
        return wave
    return wave.index_copy(0, chosen, change(wave[chosen]))


def uniform(count: int, low: float, high: float, device: torch.device) -> Tensor:
    return low + (high - low) * torch.rand(count, 1, device=device)


def edge_width(count: int, softest: float, device: torch.device) -> Tensor:
    """How many Hz wide a filter's edge is, from a cliff's 1 Hz on. An ear that knows no cliffs mishears behind them."""
    return torch.exp(uniform(count, 0.0, math.log(softest), device))


def filtered(wave: Tensor, gain: Tensor) -> Tensor:
    """`gain` [B, bins] over frequencies from 0 to 8 kHz, evenly spaced."""
    spectrum = torch.fft.rfft(wave)
    gain = F.interpolate(gain[:, None], size=spectrum.shape[1], mode="linear", align_corners=True)[:, 0]
    return torch.fft.irfft(spectrum * gain, wave.shape[1])


def add_noise(wave: Tensor, others: Tensor) -> Tensor:
    """Coloured noise or a few voices, 3 to 30 dB below the speech."""
    count, samples, device = *wave.shape, wave.device
    tilt = uniform(count, 0.0, 1.2, device)
    spectrum = torch.fft.rfft(torch.randn_like(wave))
    hertz = torch.linspace(0, RATE / 2, spectrum.shape[1], device=device).clamp(min=60)
    noise = torch.fft.irfft(spectrum * (hertz / 1000) ** -tilt, samples)
    talk = sum(others[torch.randint(len(others), (count,), device=device)] for _ in range(random.randint(2, 5)))
    noise = torch.where(torch.rand(count, 1, device=device) < 0.3, _fit(talk, samples), noise)
    signal_to_noise = 10 ** (uniform(count, 3, 30, device) / 20)
    return wave + noise * _rms(wave) / (_rms(noise) * signal_to_noise + 1e-9)


def _fit(wave: Tensor, samples: int) -> Tensor:
    return wave.repeat(1, -(-samples // wave.shape[1]))[:, :samples]


def _rms(wave: Tensor) -> Tensor:
    return wave.square().mean(dim=1, keepdim=True).sqrt()


def rooms(wave: Tensor) -> Tensor:
    """A direct sound and a tail of noise that dies away in 0.1 to 0.8 s."""
    count, samples, device = *wave.shape, wave.device
    length = RATE // 2
    time = torch.arange(length, device=device) / RATE
    tail = torch.randn(count, length, device=device) * torch.exp(-6.9 * time / uniform(count, 0.1, 0.8, device))
    tail = tail * (time > 0.002)
    tail = tail / (tail.square().sum(dim=1, keepdim=True).sqrt() + 1e-9) * uniform(count, 0.1, 0.9, device)
    tail[:, 0] = 1.0
    size = samples + length
    return torch.fft.irfft(torch.fft.rfft(wave, size) * torch.fft.rfft(tail, size), size)[:, :samples]


def equalise(wave: Tensor) -> Tensor:
    """A microphone's colour: a smooth curve within about 10 dB, and sometimes no treble."""
    count, device = len(wave), wave.device
    points = torch.randn(count, 1, 9, device=device) * 3.5
    curve = F.interpolate(points, size=BINS, mode="linear", align_corners=True)[:, 0]
    hertz = torch.linspace(0, RATE / 2, BINS, device=device)
    cutoff = uniform(count, 3500, 14000, device)
    return filtered(wave, 10 ** (curve / 20) * torch.sigmoid((cutoff - hertz) / edge_width(count, 300, device)))


def telephone(wave: Tensor) -> Tensor:
    """300 to 3400 Hz or so, often in eight bits."""
    count, device = len(wave), wave.device
    hertz = torch.linspace(0, RATE / 2, BINS, device=device)
    low, high = uniform(count, 150, 400, device), uniform(count, 2800, 4000, device)
    no_bass = torch.sigmoid((hertz - low) / edge_width(count, 40, device))
    no_treble = torch.sigmoid((high - hertz) / edge_width(count, 100, device))
    narrow = filtered(wave, no_bass * no_treble)
    peak = narrow.abs().amax(dim=1, keepdim=True) + 1e-6
    x = narrow / peak
    companded = torch.sign(x) * torch.log1p(255 * x.abs()) / math.log(256)
    coarse = torch.round(companded * 127) / 127
    coarse = torch.sign(coarse) * torch.expm1(coarse.abs() * math.log(256)) / 255
    return torch.where(torch.rand(count, 1, device=device) < 0.5, coarse * peak, narrow)


def compress(wave: Tensor) -> Tensor:
    """A lossy codec: each band of a short spectrum is rounded to steps of its own level; what is faint is lost."""
    count, samples, device = *wave.shape, wave.device
    window = torch.hann_window(512, device=device)
    spectrum = torch.stft(wave, 512, 128, window=window, return_complex=True)
    bands = F.avg_pool2d(spectrum.abs()[:, None, :256], (16, 4), (16, 4), ceil_mode=True)
    rough = F.interpolate(bands, size=(256, spectrum.shape[2]), mode="nearest")[:, 0]
    step = (rough + 1e-6) * uniform(count, 0.5, 2.5, device)[..., None]
    parts = torch.view_as_real(spectrum[:, :256]) / step[..., None]
    kept = torch.view_as_complex(torch.round(parts) * step[..., None])
    highest = (uniform(count, 100, 256, device)[..., None] > torch.arange(256, device=device)[:, None]).float()
    kept = F.pad(kept * highest, (0, 0, 0, 1))
    return torch.istft(kept, 512, 128, window=window, length=samples)


def clip(wave: Tensor) -> Tensor:
    limit = wave.abs().amax(dim=1, keepdim=True) * uniform(len(wave), 0.1, 0.6, wave.device)
    return wave.clamp(-limit, limit)


def level_steps(wave: Tensor) -> Tensor:
    """The level drifts by some decibels over the clip."""
    points = torch.randn(len(wave), 1, 4, device=wave.device) * 2.0
    drift = F.interpolate(points, size=wave.shape[1], mode="linear", align_corners=True)[:, 0]
    return wave * 10 ** (drift / 20)
