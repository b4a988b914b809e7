"""Training data, made on the card by the teacher and kept there: features, F0, style and the wave wanted."""

import json
import random
import time
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from head import cycles, statistics
from kokoro import FRAME, STYLE, Kokoro

VOICES, LAYERS = 54, 11
LONGEST = 480
"""Most duration frames (25 ms each) in a clip; longer texts are passed over."""


@dataclass
class Drawn:
    """Voices to speak with."""

    style: Tensor  # [B, 256]
    layers: Tensor  # [B, 11, 128]: how far the timbre of each norm, and of the vocoder, strays
    pitch_scale: Tensor  # [B]


class Styles:
    """Draws styles: built-in voices, mixtures, points off them, and clones of real speakers if there are any.

    `clones` are voice parameters of many speakers: timbre and melody [N, 128], layers [N, 11, 128], pitch_scale [N].
    """

    def __init__(self, tables: Tensor, clones: dict[str, Tensor] | None = None) -> None:
        self.tables = tables  # [54, 510, 256]
        self.clones = clones
        self.centre = tables.mean(dim=0)
        offsets = (tables[:, 60:120] - self.centre[60:120]).mean(dim=1)
        self.axes, self.spreads = [], []
        for half in offsets.split(STYLE, dim=1):
            _, s, axes = torch.linalg.svd(half, full_matrices=False)
            self.axes.append(_upright(axes[:-1]))
            self.spreads.append(s[:-1] / VOICES**0.5)

    def mixture(self, tokens: int, count: int, voices: int) -> Tensor:
        device = self.tables.device
        order = torch.rand(count, VOICES, device=device).argsort(dim=1)[:, :voices]
        weights = -torch.rand(count, voices, device=device).clamp(min=1e-6).log()
        weights = weights / weights.sum(dim=1, keepdim=True)
        return (weights[..., None] * self.tables[order, tokens]).sum(dim=1)

    def cloud(self, tokens: int, count: int, spread: float) -> Tensor:
        """Gaussian in the principal axes of the voices, each half of the style by itself."""
        halves = [
            spread * (torch.randn(count, len(s), device=s.device) * s) @ axes
            for s, axes in zip(self.spreads, self.axes, strict=True)
        ]
        return self.centre[tokens] + torch.cat(halves, dim=1)

    def draw(self, tokens: int, count: int) -> Drawn:
        """A third of them clones, where there are any; a few of the others at another pitch."""
        device = self.tables.device
        cloned = count // 3 if self.clones else 0
        style = self._plain(tokens, count - cloned)
        layers = torch.zeros(len(style), LAYERS, STYLE, device=device)
        scale = torch.exp((torch.rand(len(style), device=device) - 0.5) * 0.5)
        scale = torch.where(torch.rand(len(style), device=device) < 0.7, 1.0, scale)
        if not self.clones:
            return Drawn(style, layers, scale)
        chosen = torch.randint(len(self.clones["pitch_scale"]), (cloned,))
        timbre, melody, strayed, pitch = (
            self.clones[name][chosen].to(device).float() for name in ("timbre", "melody", "layers", "pitch_scale")
        )
        style = torch.cat([style, self.centre[tokens] + torch.cat([timbre, melody], dim=1)])
        return Drawn(style, torch.cat([layers, strayed]), torch.cat([scale, pitch]))

    def _plain(self, tokens: int, count: int) -> Tensor:
        """Half built-in voices, a quarter mixtures, a quarter around and beyond them."""
        quarter = count // 4
        eighth = quarter // 2
        decoder, prosody = (self.mixture(tokens, eighth, 3) for _ in "dp")
        crossed = torch.cat([decoder[:, :STYLE], prosody[:, STYLE:]], dim=1)
        crossed = self.centre[tokens] + random.uniform(0.8, 1.6) * (crossed - self.centre[tokens])
        drawn = [
            self.mixture(tokens, count - 2 * quarter, 1),
            self.mixture(tokens, quarter, random.choice((2, 2, 3, 4))),
            crossed,
            self.cloud(tokens, quarter - eighth, random.uniform(0.7, 1.4)),
        ]
        return torch.cat(drawn)


def _upright(axes: Tensor) -> Tensor:
    """Each axis with its largest component positive: libraries do not agree on the signs."""
    return axes * axes.gather(1, axes.abs().argmax(dim=1, keepdim=True)).sign()


@dataclass
class Bank:
    """Clips laid end to end; frames of all tensors but `style` and `stats`, which have one row a clip."""

    features: Tensor  # [frames, 512], fp16
    wave: Tensor  # [frames, 300], fp16
    f0: Tensor
    phase: Tensor
    clip: Tensor
    style: Tensor
    stats: Tensor

    @property
    def hours(self) -> float:
        return len(self.f0) / 80 / 3600

    def starts(self, length: int) -> Tensor:
        """Every frame at which a crop of `length` frames of one clip can begin."""
        last = self.clip[length - 1 :]
        return (self.clip[: len(last)] == last).nonzero().squeeze(1)

    def crop(self, start: Tensor, length: int) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs of the head and the wave wanted."""
        index = start[:, None] + torch.arange(length, device=start.device)
        clip = self.clip[start]
        inputs = {
            "features": self.features[index].float().transpose(1, 2),
            "f0": self.f0[index],
            "phase": self.phase[index],
            "style": self.style[clip],
            "stats": self.stats[clip],
            "position": start % 400,
        }
        return inputs, self.wave[index].float().flatten(1)

    def save(self, path: Path) -> None:
        torch.save({f.name: getattr(self, f.name) for f in fields(self)}, path)

    @classmethod
    def load(cls, path: Path, device: torch.device) -> "Bank":
        return cls(**torch.load(path, map_location=device))


@torch.no_grad()
def make(teacher: Kokoro, styles: Styles, texts: list[list[int]], seconds: float, batch: int = 24) -> Bank:
    """As many texts as the time allows, each in a batch of styles."""
    device = styles.tables.device
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(Bank)}
    clips, began = 0, time.monotonic()
    for ids in texts:
        if time.monotonic() - began > seconds:
            break
        drawn = styles.draw(len(ids), batch)
        tokens = torch.tensor([[0, *ids, 0]], device=device)
        features, f0, _ = teacher.front(
            tokens, drawn.style, random.uniform(0.7, 1.3), drawn.pitch_scale, drawn.layers[:, :-1]
        )
        if len(f0[0]) > 2 * LONGEST:
            continue
        timbre = drawn.style[:, :STYLE] + drawn.layers[:, -1]
        wave = teacher.decoder.generator(features, f0, timbre)
        good = (wave.abs().amax(dim=1) < 2.0).nonzero().squeeze(1)
        made = {
            "features": features.transpose(1, 2).half()[good].flatten(0, 1),
            "wave": wave.unflatten(1, (-1, FRAME)).half()[good].flatten(0, 1),
            "f0": f0[good].flatten(),
            "phase": cycles(f0)[good].flatten(),
            "clip": torch.arange(clips, clips + len(good), device=device).repeat_interleave(f0.shape[1]),
            "style": timbre[good],
            "stats": statistics(features)[good],
        }
        clips += len(good)
        for name, value in made.items():
            parts[name].append(value)
    return Bank(**{name: torch.cat(values) for name, values in parts.items()})


def texts(path: Path, seed: int) -> list[list[int]]:
    """All languages' sentences, shuffled; English twice as often as any other (it has two accents)."""
    corpus = json.loads(path.read_text())
    everything = [ids for sentences in corpus.values() for ids in sentences]
    random.Random(seed).shuffle(everything)
    return everything
