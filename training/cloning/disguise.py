"""Other people, made of recordings: faster or slower (pitch and formants together), and with other formants alone."""

import torch
import torch.nn.functional as F
from torch import Tensor

N_FFT, HOP = 1024, 256
ENVELOPE = 40
"""Quefrencies (of 1/16 ms) that make the envelope; the pitch begins beyond them."""


def stretched(wave: Tensor, samples: int) -> Tensor:
    """The whole sound played in that many samples. [B, any] → [B, samples]"""
    spectrum = torch.fft.rfft(wave)
    bins = samples // 2 + 1
    spectrum = F.pad(spectrum[:, :bins], (0, max(0, bins - spectrum.shape[1])))
    return torch.fft.irfft(spectrum, samples) * (samples / wave.shape[1])


def with_formants(wave: Tensor, factor: Tensor) -> Tensor:
    """Formants multiplied by `factor` [B], the pitch as it was: the spectrum's envelope is drawn out."""
    window = torch.hann_window(N_FFT, device=wave.device)
    spectrum = torch.stft(wave, N_FFT, HOP, window=window, return_complex=True)
    cepstrum = torch.fft.irfft(torch.log(spectrum.abs() + 1e-4), dim=1)
    keep = torch.ones(N_FFT, device=wave.device)
    keep[ENVELOPE : N_FFT - ENVELOPE + 1] = 0
    envelope = torch.fft.rfft(cepstrum * keep[:, None], dim=1).real
    bins = envelope.shape[1]
    place = (torch.arange(bins, device=wave.device) / factor[:, None]).clamp(max=bins - 1.001)
    low = place.long()
    share = (place - low)[..., None]
    low = low[..., None].expand(-1, -1, envelope.shape[2])
    drawn = torch.lerp(envelope.gather(1, low), envelope.gather(1, low + 1), share)
    gain = torch.exp((drawn - envelope).clamp(-2.5, 2.5))
    return torch.istft(spectrum * gain, N_FFT, HOP, window=window, length=wave.shape[1])
