"""The head: a small vocoder that replaces Kokoro's generator and works window by window.

From features, F0 and style it predicts masks on two spectra, of a pulse train with the teacher's phase and of a fixed
noise; the masked sum goes through an inverse STFT. Its receptive field is `Head.context` frames to either side, and
statistics of the whole utterance are an input, so a window's samples equal those of the whole clip.
"""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from teacher.kokoro import FRAME, SAMPLE_RATE, STYLE

FEATURES = 512
N_FFT, HOP = 600, 150
BINS = N_FFT // 2 + 1
SUBFRAMES = FRAME // HOP
NOISE_FRAMES = 400
"""The noise repeats after this many feature frames (five seconds)."""
PULSE_DECAY = 4.0
"""Decay of the pulse train's harmonics from 0 to 12 kHz, in nepers: it keeps aliasing weak."""


@dataclass(frozen=True)
class HeadSize:
    width: int = 512
    inner: int = 1024
    blocks: int = 8
    kernel: int = 5
    condition: int = 256
    additive: int = 192


def accumulate_phase(f0: Tensor) -> Tensor:
    """Phase of the fundamental at the middle of each frame, in cycles, as the teacher accumulates it."""
    return torch.cumsum(f0.double() * (FRAME / SAMPLE_RATE), dim=1).remainder(1.0).float()


def utterance_statistics(features: Tensor) -> Tensor:
    """Mean and deviation of each feature over the utterance: what the teacher's instance norms compute."""
    return torch.cat([features.mean(dim=2), features.std(dim=2, correction=0)], dim=1)


def pulse_train(f0: Tensor, phase: Tensor) -> Tensor:
    """Σ rᵏ cos kφ in closed form, φ linear between the middles of frames. [B, T] → [B, 300 T]"""
    offset = (torch.arange(FRAME, device=f0.device) + 0.5) / FRAME - 0.5
    following = torch.cat([f0[:, 1:], f0[:, -1:]], dim=1)
    slope = torch.where(offset < 0, f0[..., None], following[..., None]) * (FRAME / SAMPLE_RATE)
    cosine = torch.cos(2 * math.pi * (phase[..., None] + offset * slope))
    r = torch.exp(-PULSE_DECAY * f0.clamp(40, 1000) / (SAMPLE_RATE / 2))[..., None]
    pulses = torch.sqrt(1 - r * r) * (r * cosine - r * r) / (1 - 2 * r * cosine + r * r)
    return (pulses * (f0[..., None] > 10)).flatten(1)


class ConvNeXtBlock(nn.Module):
    def __init__(self, size: HeadSize) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(size.width, size.width, size.kernel, padding=size.kernel // 2, groups=size.width)
        self.expand = nn.Linear(size.width, size.inner)
        self.contract = nn.Linear(size.inner, size.width)
        self.scale = nn.Parameter(torch.full((size.width,), 0.2))

    def forward(self, x: Tensor, gain: Tensor, offset: Tensor) -> Tensor:
        y = self.depthwise(x.transpose(1, 2)).transpose(1, 2)
        y = F.layer_norm(y, self.scale.shape) * gain + offset
        return x + self.scale * self.contract(F.gelu(self.expand(y), approximate="tanh"))


class Head(nn.Module):
    def __init__(self, size: HeadSize | None = None, dense_transforms: bool = False) -> None:
        """`dense_transforms`: Fourier transforms as matrix products, which ONNX Runtime does fastest."""
        super().__init__()
        self.size = size = size or HeadSize()
        self.dense_transforms = dense_transforms
        self.context = size.blocks * (size.kernel // 2) + 2
        self.entry = nn.Linear(FEATURES + 4, size.width)
        self.condition = nn.Linear(STYLE + 2 * FEATURES, size.condition)
        self.film = nn.Linear(size.condition, size.blocks * 2 * size.width)
        self.blocks = nn.ModuleList(ConvNeXtBlock(size) for _ in range(size.blocks))
        self.norm = nn.LayerNorm(size.width)
        self.masks = nn.Linear(size.width, SUBFRAMES * 4 * BINS)
        self.additive_entry = nn.Linear(size.width, size.additive)
        self.additive = nn.Linear(size.additive, SUBFRAMES * 2 * BINS)
        for name, channels in (("feature", FEATURES), ("style", STYLE)):
            self.register_buffer(f"{name}_mean", torch.zeros(channels))
            self.register_buffer(f"{name}_scale", torch.ones(channels))
        self._initialise()
        self._make_transforms()

    def _initialise(self) -> None:
        for layer in (self.masks, self.additive, self.film):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            # The pulse mask starts real and positive, with half of the pulses' decay compensated.
            level, real, _, noise = self.masks.bias.view(SUBFRAMES, 4, BINS).unbind(1)
            level.copy_(torch.linspace(-2, -2 + PULSE_DECAY / 2, BINS).expand(SUBFRAMES, -1))
            real.fill_(1.0)
            noise.fill_(-7.0)

    def _make_transforms(self) -> None:
        window = torch.hann_window(N_FFT, dtype=torch.float64)
        angle = -2 * math.pi * torch.outer(torch.arange(N_FFT), torch.arange(BINS)).double() / N_FFT
        analysis = window[:, None] * torch.cat([torch.cos(angle), torch.sin(angle)], dim=1)
        weight = torch.full((BINS, 1), 2.0, dtype=torch.float64)
        weight[0] = weight[-1] = 1.0
        angle = angle.T
        synthesis = torch.cat([weight * torch.cos(angle), weight * torch.sin(angle)]) * window / N_FFT / 1.5
        noise = torch.randn(NOISE_FRAMES * FRAME, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        around = torch.cat([noise[-225:], noise, noise[:375]])
        table = around.unfold(0, N_FFT, HOP)[: NOISE_FRAMES * SUBFRAMES] @ analysis
        self.register_buffer("window", window.float(), persistent=False)
        self.register_buffer("analysis", analysis.float(), persistent=False)
        self.register_buffer("synthesis", synthesis.float(), persistent=False)
        self.register_buffer("noise", table.float().view(NOISE_FRAMES, SUBFRAMES, 2, BINS), persistent=False)

    def _analyse(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        """Real and imaginary parts [B, T, 2, bins]; subframe j is centred on sample 150 j + 75."""
        batch = wave.shape[0]
        frames = F.pad(wave, (225, 225))
        if self.dense_transforms:
            # unfold has no ONNX form: four shifted reshapes do the same.
            blocks = frames[:, : frames.shape[1] // HOP * HOP].view(batch, -1, HOP)
            count = blocks.shape[1] - 3
            frames = torch.cat([blocks[:, i : i + count] for i in range(4)], dim=2)
            parts = (frames @ self.analysis).view(batch, count // SUBFRAMES, SUBFRAMES, 2, BINS)
            return parts[..., 0, :], parts[..., 1, :]
        bins = torch.fft.rfft(frames.unfold(1, N_FFT, HOP) * self.window)
        bins = bins.unflatten(1, (-1, SUBFRAMES))
        return bins.real, bins.imag

    def _synthesise(self, real: Tensor, imaginary: Tensor) -> Tensor:
        """Inverse of `_analyse`, overlap-added. [B, T, 2, bins] twice → [B, 300 T]"""
        if self.dense_transforms:
            frames = torch.cat([real, imaginary], dim=3).flatten(1, 2) @ self.synthesis
        else:
            frames = torch.fft.irfft(torch.complex(real, imaginary).flatten(1, 2), N_FFT) * (self.window / 1.5)
        batch, count = frames.shape[:2]
        quarters = frames.view(batch, count, 4, HOP).unbind(2)
        added = sum(F.pad(quarter, (0, 0, i, 3 - i)) for i, quarter in enumerate(quarters))
        return added.flatten(1)[:, 225 : 225 + count * HOP]

    def _encode(
        self,
        features: Tensor,
        f0: Tensor,
        phase: Tensor,
        style: Tensor,
        statistics: Tensor,
        vocoder_embedding: Tensor | None,
    ) -> Tensor:
        mean, deviation = statistics.chunk(2, dim=1)
        mean = (mean - self.feature_mean) / self.feature_scale
        deviation = torch.log(deviation / self.feature_scale + 1e-3)
        style = (style - self.style_mean) / self.style_scale
        condition = F.silu(self.condition(torch.cat([style, mean, deviation], dim=1)))
        if vocoder_embedding is not None:
            condition = condition + vocoder_embedding
        film = self.film(condition).view(-1, self.size.blocks, 2, 1, self.size.width)
        voiced = (f0 > 10).to(f0.dtype)
        pitch = torch.log(f0.clamp(min=10) / 150) * voiced
        angle = 2 * math.pi * phase
        curves = torch.stack([voiced, pitch, voiced * torch.cos(angle), voiced * torch.sin(angle)], dim=1)
        x = (features - self.feature_mean[:, None]) / self.feature_scale[:, None]
        x = self.entry(torch.cat([x, curves], dim=1).transpose(1, 2))
        for i, block in enumerate(self.blocks):
            x = block(x, 1 + film[:, i, 0], film[:, i, 1])
        return self.norm(x)

    def forward(
        self,
        features: Tensor,
        f0: Tensor,
        phase: Tensor,
        style: Tensor,
        statistics: Tensor,
        position: Tensor,
        vocoder_embedding: Tensor | None = None,
    ) -> Tensor:
        """features [B, 512, T], f0, phase [B, T], style [B, 128], statistics [B, 1024], position [B] → [B, 300 T]

        `phase` is a slice of `accumulate_phase(f0)` and `statistics` is `utterance_statistics(features)`, both of the
        whole utterance; `position` is the window's first frame, which selects its part of the noise.
        `vocoder_embedding` [B, 256] is added to the conditioning of cloned voices; the teacher has nothing like it.
        """
        hidden = self._encode(features, f0, phase, style, statistics, vocoder_embedding)
        batch, count = f0.shape
        with torch.autocast(features.device.type, enabled=False):
            hidden = hidden.float()
            masks = self.masks(hidden).view(batch, count, SUBFRAMES, 4, BINS)
            level, real, imaginary, noise_level = masks.unbind(3)
            extra = self.additive(F.gelu(self.additive_entry(hidden), approximate="tanh"))
            extra_real, extra_imaginary = extra.view(batch, count, SUBFRAMES, 2, BINS).unbind(3)
            pulse_real, pulse_imaginary = self._analyse(pulse_train(f0, phase))
            place = (position[:, None] + torch.arange(count, device=f0.device)) % NOISE_FRAMES
            noise_real, noise_imaginary = self.noise[place].unbind(3)
            level, noise_level = torch.exp(level.clamp(max=6)), torch.exp(noise_level.clamp(max=4))
            return self._synthesise(
                level * (real * pulse_real - imaginary * pulse_imaginary)
                + noise_level * (noise_real + 20 * extra_real),
                level * (real * pulse_imaginary + imaginary * pulse_real)
                + noise_level * (noise_imaginary + 20 * extra_imaginary),
            )


def save(head: Head, path: str) -> None:
    weights = {k: v.half() for k, v in head.state_dict().items()}
    torch.save({"size": asdict(head.size), "weights": weights}, path)


def load(path: str, dense_transforms: bool = False) -> Head:
    saved = torch.load(path, map_location="cpu")
    head = Head(HeadSize(**saved["size"]), dense_transforms)
    head.load_state_dict({k: v.float() for k, v in saved["weights"].items()})
    return head.eval()
