"""Reconstruction loss: log and complex spectra at five resolutions, mel spectra at two."""

import math

import torch
from torch import Tensor, nn

RESOLUTIONS = (2048, 1024, 512, 256, 128)
MEL_BANDS = {2048: 128, 1024: 80}
FLOOR = 3e-4
RATE = 24000
PHASE_BELOW = 2000
"""Hz. Above it the teacher's phases are not locked to its source and cannot be predicted: a complex loss there would
only make the head quieter."""


def mel_filters(n_fft: int, bands: int, rate: int = RATE) -> Tensor:
    """Triangular filters, evenly spaced on the mel scale. [bins, bands]"""
    top = 2595 * math.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (torch.linspace(0, top, bands + 2) / 2595) - 1)
    frequency = torch.linspace(0, rate / 2, n_fft // 2 + 1)[:, None]
    rising = (frequency - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequency) / (edges[2:] - edges[1:-1])
    filters = torch.minimum(rising, falling).clamp(min=0)
    return filters / filters.sum(dim=0).clamp(min=1e-6)


class SpectralLoss(nn.Module):
    def __init__(self, complex_weight: float = 0.5) -> None:
        super().__init__()
        self.complex_weight = complex_weight
        for n in RESOLUTIONS:
            self.register_buffer(f"window{n}", torch.hann_window(n), persistent=False)
        for n, bands in MEL_BANDS.items():
            self.register_buffer(f"mel{n}", mel_filters(n, bands), persistent=False)

    def forward(self, predicted: Tensor, target: Tensor) -> Tensor:
        total = 0.0
        for n in RESOLUTIONS:
            window = getattr(self, f"window{n}")
            a, b = (
                torch.view_as_real(torch.stft(w, n, n // 4, window=window, normalized=True, return_complex=True))
                for w in (predicted, target)
            )
            # Magnitudes without abs(): the derivative of a complex abs is undefined at zero.
            size_a, size_b = (torch.sqrt(s.square().sum(dim=3) + 1e-10) for s in (a, b))
            total = total + (torch.log(size_a + FLOOR) - torch.log(size_b + FLOOR)).abs().mean()
            low = slice(0, n * PHASE_BELOW // RATE + 1)
            distance = torch.sqrt((a - b)[:, low].square().sum(dim=3) + 1e-10).mean()
            total = total + self.complex_weight * distance / (size_b[:, low].mean() + 1e-4)
            if n in MEL_BANDS:
                mel = getattr(self, f"mel{n}")
                mel_a, mel_b = (torch.log(s.transpose(1, 2) @ mel + FLOOR) for s in (size_a, size_b))
                total = total + 2 * (mel_a - mel_b).abs().mean()
        return total / len(RESOLUTIONS)
