"""Small discriminators: of the wave folded at five prime periods, and of its spectrum at three resolutions."""

from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

PERIODS = (2, 3, 5, 7, 11)
RESOLUTIONS = (2048, 1024, 512)


class PeriodDiscriminator(nn.Module):
    CHANNELS = (1, 32, 96, 256, 384)

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period
        self.layers = nn.ModuleList(
            weight_norm(nn.Conv2d(a, b, (5, 1), (3, 1), (2, 0))) for a, b in pairwise(self.CHANNELS)
        )
        last = self.CHANNELS[-1]
        self.layers.append(weight_norm(nn.Conv2d(last, last, (5, 1), padding=(2, 0))))
        self.score = weight_norm(nn.Conv2d(last, 1, (3, 1), padding=(1, 0)))

    def forward(self, wave: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = F.pad(wave, (0, -wave.shape[1] % self.period))
        x = x.view(len(wave), 1, -1, self.period).contiguous(memory_format=torch.channels_last)
        maps = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
            maps.append(x)
        return self.score(x), maps


class SpectrumDiscriminator(nn.Module):
    def __init__(self, n_fft: int) -> None:
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.layers = nn.ModuleList(
            weight_norm(nn.Conv2d(a, b, (3, k), (1, s), (d, k // 2), dilation=(d, 1)))
            for a, b, k, s, d in (
                (2, 32, 9, 2, 1),
                (32, 32, 9, 2, 1),
                (32, 64, 9, 2, 2),
                (64, 64, 5, 2, 4),
                (64, 64, 3, 1, 1),
            )
        )
        self.score = weight_norm(nn.Conv2d(64, 1, 3, padding=1))

    def forward(self, wave: Tensor) -> tuple[Tensor, list[Tensor]]:
        with torch.autocast(wave.device.type, enabled=False):
            spectrum = torch.stft(
                wave, self.n_fft, self.n_fft // 4, window=self.window, normalized=True, return_complex=True
            )
            parts = torch.stack([spectrum.real, spectrum.imag], dim=1).transpose(2, 3)
            # Compressed, so that quiet high frequencies are seen beside loud low ones.
            power = parts.square().sum(dim=1, keepdim=True) + 1e-8
            x = (parts * power**-0.3).contiguous(memory_format=torch.channels_last)
        maps = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
            maps.append(x)
        return self.score(x), maps


class Discriminators(nn.ModuleList):
    def __init__(self) -> None:
        super().__init__([PeriodDiscriminator(p) for p in PERIODS] + [SpectrumDiscriminator(n) for n in RESOLUTIONS])

    def forward(self, wave: Tensor) -> list[tuple[Tensor, list[Tensor]]]:
        """A score and the feature maps of each discriminator."""
        return [discriminator(wave) for discriminator in self]


def compute_losses(outputs: list[tuple[Tensor, list[Tensor]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Hinge loss of the discriminators, adversarial and feature-matching loss of the head.

    The first half of the batch is real speech, the second is the head's.
    """
    hinge = adversarial = matching = 0.0
    for score, maps in outputs:
        real, fake = score.float().chunk(2)
        hinge = hinge + F.relu(1 - real).mean() + F.relu(1 + fake).mean()
        adversarial = adversarial - fake.mean()
        for layer in maps:
            real, fake = layer.chunk(2)
            real = real.detach()
            distance = (real - fake).abs().mean(dtype=torch.float32)
            matching = matching + distance / (real.abs().mean(dtype=torch.float32) + 1e-4) / len(maps)
    count = len(outputs)
    return hinge / count, adversarial / count, matching / count


def save(discriminators: Discriminators, path: Path) -> None:
    partial = path.with_suffix(".partial")
    torch.save({k: v.half() for k, v in discriminators.state_dict().items()}, partial)
    # Renamed when complete: an interrupted training leaves the last whole checkpoint.
    partial.replace(path)


def load_weights(discriminators: Discriminators, path: Path) -> None:
    weights = torch.load(path, map_location="cpu")
    discriminators.load_state_dict({k: v.float() for k, v in weights.items()})
