"""Augmentation of a batch of 16 kHz clips.

`change_speed`, `shift_formants` and `splice` make other speakers of a recording; `degrade` does what happens to
recordings before they are uploaded (noise, rooms, microphones, telephones, codecs, clipping).
"""

import math
import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.features import RATE

FILTER_BINS = 2049
"""Of a filter, 4 Hz apart."""
N_FFT, HOP = 1024, 256
ENVELOPE = 40
"""Quefrencies (of 1/16 ms) of the spectral envelope; the pitch lies above them."""
MIDDLE_FORMANT = 1500.0
"""Hz: where bent formants stay."""


def change_speed(wave: Tensor, samples: int) -> Tensor:
    """The whole clip resampled to that many samples, pitch and formants with it. [B, any] → [B, samples]"""
    spectrum = torch.fft.rfft(wave)
    bins = samples // 2 + 1
    spectrum = F.pad(spectrum[:, :bins], (0, max(0, bins - spectrum.shape[1])))
    return torch.fft.irfft(spectrum, samples) * (samples / wave.shape[1])


def shift_formants(wave: Tensor, factor: Tensor, bend: Tensor | None = None) -> Tensor:
    """Formants multiplied by `factor` [B], at the same pitch: the spectral envelope is stretched.

    With a `bend` [B], those above 1.5 kHz by more and those below by less, as the power of their distance to it.
    """
    window = torch.hann_window(N_FFT, device=wave.device)
    spectrum = torch.stft(wave, N_FFT, HOP, window=window, return_complex=True)
    cepstrum = torch.fft.irfft(torch.log(spectrum.abs() + 1e-4), dim=1)
    keep = torch.ones(N_FFT, device=wave.device)
    keep[ENVELOPE : N_FFT - ENVELOPE + 1] = 0
    envelope = torch.fft.rfft(cepstrum * keep[:, None], dim=1).real
    bins = envelope.shape[1]
    hertz = torch.arange(bins, device=wave.device) * (RATE / N_FFT)
    stretch = factor[:, None]
    if bend is not None:
        stretch = stretch * (hertz.clamp(min=200) / MIDDLE_FORMANT) ** bend[:, None]
    source = (torch.arange(bins, device=wave.device) / stretch).clamp(max=bins - 1.001)
    low = source.long()
    share = (source - low)[..., None]
    low = low[..., None].expand(-1, -1, envelope.shape[2])
    stretched = torch.lerp(envelope.gather(1, low), envelope.gather(1, low + 1), share)
    gain = torch.exp((stretched - envelope).clamp(-2.5, 2.5))
    return torch.istft(spectrum * gain, N_FFT, HOP, window=window, length=wave.shape[1])


def splice(wave: Tensor, share: float) -> Tensor:
    """Some clips continue as another clip of the batch, so that the encoder cannot rely on one speaker throughout."""
    count, samples = wave.shape
    other = wave[torch.randperm(count, device=wave.device)]
    cut = (torch.rand(count, 1, device=wave.device) * 0.6 + 0.2) * samples
    after = torch.arange(samples, device=wave.device) > cut
    chosen = torch.rand(count, 1, device=wave.device) < share
    return torch.where(after & chosen, other, wave)


def degrade(wave: Tensor, others: Tensor) -> Tensor:
    """Each clip gets its own degradations, a quarter of them none. `others` [n, samples] are background voices."""
    degraded = drift_level(wave)
    degraded = _apply_to_some(degraded, add_reverberation, 0.35)
    degraded = _apply_to_some(degraded, simulate_microphone, 0.5)
    degraded = _apply_to_some(degraded, lambda x: add_noise(x, others), 0.55)
    degraded = _apply_to_some(degraded, clip, 0.15)
    degraded = _apply_to_some(degraded, simulate_telephone, 0.4)
    degraded = _apply_to_some(degraded, compress, 0.25)
    untouched = torch.rand(len(wave), 1, device=wave.device) < 0.25
    return torch.where(untouched, wave, degraded)


def keep_clean(wave: Tensor) -> Tensor:
    """No degradation, for lists of conditions."""
    return wave


def _apply_to_some(wave: Tensor, change: Callable[[Tensor], Tensor], share: float) -> Tensor:
    chosen = (torch.rand(len(wave)) < share).nonzero().squeeze(1).to(wave.device)
    if len(chosen) == 0:
        return wave
    return wave.index_copy(0, chosen, change(wave[chosen]))


def sample_uniform(count: int, low: float, high: float, device: torch.device) -> Tensor:
    return low + (high - low) * torch.rand(count, 1, device=device)


def sample_edge_width(count: int, widest: float, device: torch.device) -> Tensor:
    """Width of a filter's edge, from 1 Hz on: an encoder trained without steep edges fails behind them."""
    return torch.exp(sample_uniform(count, 0.0, math.log(widest), device))


def apply_filter(wave: Tensor, gain: Tensor) -> Tensor:
    """`gain` [B, bins] over frequencies from 0 to 8 kHz, evenly spaced."""
    spectrum = torch.fft.rfft(wave)
    gain = F.interpolate(gain[:, None], size=spectrum.shape[1], mode="linear", align_corners=True)[:, 0]
    return torch.fft.irfft(spectrum * gain, wave.shape[1])


def add_noise(wave: Tensor, others: Tensor) -> Tensor:
    """Coloured noise or a few voices, 3 to 30 dB below the speech."""
    count, samples, device = *wave.shape, wave.device
    tilt = sample_uniform(count, 0.0, 1.2, device)
    spectrum = torch.fft.rfft(torch.randn_like(wave))
    hertz = torch.linspace(0, RATE / 2, spectrum.shape[1], device=device).clamp(min=60)
    noise = torch.fft.irfft(spectrum * (hertz / 1000) ** -tilt, samples)
    babble = sum(others[torch.randint(len(others), (count,), device=device)] for _ in range(random.randint(2, 5)))
    noise = torch.where(torch.rand(count, 1, device=device) < 0.3, _repeat_to(babble, samples), noise)
    signal_to_noise = 10 ** (sample_uniform(count, 3, 30, device) / 20)
    return wave + noise * _rms(wave) / (_rms(noise) * signal_to_noise + 1e-9)


def _repeat_to(wave: Tensor, samples: int) -> Tensor:
    return wave.repeat(1, -(-samples // wave.shape[1]))[:, :samples]


def _rms(wave: Tensor) -> Tensor:
    return wave.square().mean(dim=1, keepdim=True).sqrt()


def add_reverberation(wave: Tensor) -> Tensor:
    """Direct sound and a tail of noise that decays in 0.1 to 0.8 s."""
    count, samples, device = *wave.shape, wave.device
    length = RATE // 2
    time = torch.arange(length, device=device) / RATE
    tail = torch.randn(count, length, device=device) * torch.exp(-6.9 * time / sample_uniform(count, 0.1, 0.8, device))
    tail = tail * (time > 0.002)
    tail = tail / (tail.square().sum(dim=1, keepdim=True).sqrt() + 1e-9) * sample_uniform(count, 0.1, 0.9, device)
    tail[:, 0] = 1.0
    size = samples + length
    return torch.fft.irfft(torch.fft.rfft(wave, size) * torch.fft.rfft(tail, size), size)[:, :samples]


def simulate_microphone(wave: Tensor) -> Tensor:
    """A smooth frequency response within about 10 dB, sometimes without treble."""
    count, device = len(wave), wave.device
    points = torch.randn(count, 1, 9, device=device) * 3.5
    curve = F.interpolate(points, size=FILTER_BINS, mode="linear", align_corners=True)[:, 0]
    hertz = torch.linspace(0, RATE / 2, FILTER_BINS, device=device)
    cutoff = sample_uniform(count, 3500, 14000, device)
    return apply_filter(
        wave, 10 ** (curve / 20) * torch.sigmoid((cutoff - hertz) / sample_edge_width(count, 300, device))
    )


def simulate_telephone(wave: Tensor) -> Tensor:
    """A band of about 300 to 3400 Hz, in half of the clips with 8-bit companding."""
    count, device = len(wave), wave.device
    hertz = torch.linspace(0, RATE / 2, FILTER_BINS, device=device)
    low, high = sample_uniform(count, 150, 400, device), sample_uniform(count, 2800, 4000, device)
    no_bass = torch.sigmoid((hertz - low) / sample_edge_width(count, 40, device))
    no_treble = torch.sigmoid((high - hertz) / sample_edge_width(count, 100, device))
    narrow = apply_filter(wave, no_bass * no_treble)
    peak = narrow.abs().amax(dim=1, keepdim=True) + 1e-6
    x = narrow / peak
    companded = torch.sign(x) * torch.log1p(255 * x.abs()) / math.log(256)
    coarse = torch.round(companded * 127) / 127
    coarse = torch.sign(coarse) * torch.expm1(coarse.abs() * math.log(256)) / 255
    return torch.where(torch.rand(count, 1, device=device) < 0.5, coarse * peak, narrow)


def compress(wave: Tensor) -> Tensor:
    """A lossy codec: each band of a short spectrum is rounded to steps of its own level, which drops faint parts."""
    count, samples, device = *wave.shape, wave.device
    window = torch.hann_window(512, device=device)
    spectrum = torch.stft(wave, 512, 128, window=window, return_complex=True)
    bands = F.avg_pool2d(spectrum.abs()[:, None, :256], (16, 4), (16, 4), ceil_mode=True)
    rough = F.interpolate(bands, size=(256, spectrum.shape[2]), mode="nearest")[:, 0]
    step = (rough + 1e-6) * sample_uniform(count, 0.5, 2.5, device)[..., None]
    parts = torch.view_as_real(spectrum[:, :256]) / step[..., None]
    kept = torch.view_as_complex(torch.round(parts) * step[..., None])
    highest = (sample_uniform(count, 100, 256, device)[..., None] > torch.arange(256, device=device)[:, None]).float()
    kept = F.pad(kept * highest, (0, 0, 0, 1))
    return torch.istft(kept, 512, 128, window=window, length=samples)


def clip(wave: Tensor) -> Tensor:
    limit = wave.abs().amax(dim=1, keepdim=True) * sample_uniform(len(wave), 0.1, 0.6, wave.device)
    return wave.clamp(-limit, limit)


def drift_level(wave: Tensor) -> Tensor:
    """The level drifts by some decibels over the clip."""
    points = torch.randn(len(wave), 1, 4, device=wave.device) * 2.0
    drift = F.interpolate(points, size=wave.shape[1], mode="linear", align_corners=True)[:, 0]
    return wave * 10 ** (drift / 20)
