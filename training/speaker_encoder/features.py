"""Acoustic features of a batch of 16 kHz clips: log-mel frames as speaker networks read them, and the pitch."""

import math
from functools import cache

import torch
from torch import Tensor

RATE = 16_000
WINDOW, HOP, N_FFT, BANDS = 400, 160, 512, 80
PITCH_WINDOW = 1024
LOWEST, HIGHEST = 60.0, 420.0
"""Hz, of the pitch."""
FLATTENED = 0.7
"""Exponent of the power spectrum before its autocorrelation. As in svc.cloning.speaker_encoder, like all of `pitch`."""
REGISTER = 8 / 12 * math.log(2)
"""Within so much of its middle a speaker's pitch remains."""
REGISTER_STEP = 0.06


@cache
def _filters(device: torch.device) -> Tensor:
    """Kaldi's triangles, 20 Hz to 8 kHz, evenly spaced in mel. [257, 80]"""

    def mel(hertz: Tensor | float) -> Tensor:
        return 1127.0 * torch.log(1.0 + torch.as_tensor(hertz, dtype=torch.float64) / 700.0)

    edges = torch.linspace(float(mel(20.0)), float(mel(RATE / 2)), BANDS + 2, dtype=torch.float64)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    bins = mel(torch.arange(N_FFT // 2 + 1) * RATE / N_FFT)[:, None]
    weights = torch.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)).clamp(min=0)
    weights[-1] = 0  # Kaldi leaves the last bin out
    return weights.float().to(device)


@cache
def _window(device: torch.device) -> Tensor:
    return torch.hann_window(WINDOW, periodic=False, device=device).pow(0.85)


def log_mel(wave: Tensor) -> Tensor:
    """[B, samples] → [B, frames, 80]"""
    frames = wave.unfold(1, WINDOW, HOP)
    frames = frames - frames.mean(dim=2, keepdim=True)
    frames = frames - 0.97 * torch.cat([frames[..., :1], frames[..., :-1]], dim=-1)
    power = torch.fft.rfft(frames * _window(wave.device), N_FFT).abs().square()
    with torch.autocast(wave.device.type, enabled=False):  # a logarithm of bf16 would be noise
        return torch.log((power @ _filters(wave.device)).clamp(min=1.1920929e-07))


def fbank(wave: Tensor) -> Tensor:
    mel = log_mel(wave)
    return mel - mel.mean(dim=1, keepdim=True)


def normalize_level(wave: Tensor) -> Tensor:
    """The wave at a root mean square of 0.05."""
    return wave * (0.05 / (wave.square().mean(dim=1, keepdim=True).sqrt() + 1e-6))


@torch.no_grad()
def pitch(wave: Tensor) -> Tensor:
    """Log of the median pitch, its spread, and the share of voiced frames. [B, samples] → [B, 3]

    A frame's pitch is the highest peak of its autocorrelation. The spectrum is flattened a little, because a formant's
    period is often mistaken for the pitch where a telephone has removed the fundamental. It is looked for only in the
    range in which the frames of a clip are most periodic on average.
    """
    frames = wave.unfold(1, PITCH_WINDOW, HOP)
    window = torch.hann_window(PITCH_WINDOW, device=wave.device)
    frames = (frames - frames.mean(dim=2, keepdim=True)) * window
    finer, size = 2 * RATE, 2 * PITCH_WINDOW  # lags in half samples: a high voice's period is short
    own = torch.fft.irfft(torch.fft.rfft(window, size).abs().square(), 2 * size)
    found = torch.fft.irfft(torch.fft.rfft(frames, size).abs().pow(2 * FLATTENED), 2 * size)
    lags = torch.arange(int(finer / HIGHEST), int(finer / LOWEST) + 1, device=wave.device)
    correlation = found[..., lags] / (found[..., :1] + 1e-9) * (own[0] / own[lags])
    energy = frames.square().sum(dim=2)
    loud = energy > 0.02 * energy.amax(dim=1, keepdim=True)
    voiced = loud & (correlation.amax(dim=2) > 0.4)
    candidates = torch.log(finer / lags.float())
    index = (correlation + _find_register(correlation * voiced[..., None], candidates)).argmax(dim=2)
    logs = torch.where(voiced, candidates[index], math.nan)
    median = torch.nan_to_num(logs.nanmedian(dim=1).values, nan=math.log(150.0))
    off = torch.nan_to_num((logs - median[:, None]).abs(), nan=0.0).clamp(max=0.5)
    share = voiced.float().mean(dim=1)
    spread = off.mean(dim=1) / share.clamp(min=0.02)
    return torch.stack([median, spread, share], dim=1)


def _find_register(correlation: Tensor, candidates: Tensor) -> Tensor:
    """0 for the candidates in the best range of each clip, and -inf for the others.

    [B, frames, candidates], [candidates] → [B, 1, candidates]
    """
    centres = torch.arange(float(candidates.min()), float(candidates.max()), REGISTER_STEP, device=candidates.device)
    inside = (candidates - centres[:, None]).abs() <= REGISTER
    scores = torch.stack([correlation[..., each].amax(dim=2).sum(dim=1) for each in inside], dim=1)
    best = inside[scores.argmax(dim=1)]
    return torch.where(best, 0.0, -math.inf)[:, None]
