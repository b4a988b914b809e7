"""The teacher cache: training data synthesised by the teacher and kept in GPU memory."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from head.model import NOISE_FRAMES, accumulate_phase, utterance_statistics
from teacher.kokoro import FRAME, STYLE, Kokoro
from teacher.styles import StyleSampler

FRAMES_PER_HOUR = 80 * 3600
LONGEST = 960
"""Most feature frames (12.5 ms each) in a clip; longer ones are skipped."""


@dataclass
class TeacherCache:
    """Clips laid end to end: a row per frame in all tensors but `style` and `statistics`, which have one per clip."""

    features: Tensor  # [frames, 512], fp16
    wave: Tensor  # [frames, 300], fp16
    f0: Tensor
    phase: Tensor
    clip: Tensor
    style: Tensor
    statistics: Tensor

    @property
    def hours(self) -> float:
        return len(self.f0) / FRAMES_PER_HOUR

    def find_starts(self, length: int) -> Tensor:
        """Every frame at which a crop of `length` frames of one clip can begin."""
        last = self.clip[length - 1 :]
        return (self.clip[: len(last)] == last).nonzero().squeeze(1)

    def crop(self, start: Tensor, length: int) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs of the head and the target wave."""
        index = start[:, None] + torch.arange(length, device=start.device)
        clip = self.clip[start]
        inputs = {
            "features": self.features[index].float().transpose(1, 2),
            "f0": self.f0[index],
            "phase": self.phase[index],
            "style": self.style[clip],
            "statistics": self.statistics[clip],
            "position": start % NOISE_FRAMES,
        }
        return inputs, self.wave[index].float().flatten(1)


@torch.no_grad()
def synthesize(
    teacher: Kokoro, styles: StyleSampler, texts: Iterable[list[int]], hours: float, batch: int
) -> TeacherCache:
    """That many hours of speech, each text in a batch of styles; less if the texts run out."""
    device = styles.tables.device
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(TeacherCache)}
    clips = frames = 0
    for ids in texts:
        if frames >= hours * FRAMES_PER_HOUR:
            break
        voices = styles.sample(len(ids), batch)
        tokens = torch.tensor([[0, *ids, 0]], device=device)
        features, f0, _ = teacher.acoustic_features(tokens, voices.style, random.uniform(0.7, 1.3), voices.pitch_scale)
        if len(f0[0]) > LONGEST:
            continue
        timbre = voices.style[:, :STYLE]
        wave = teacher.decoder.generator(features, f0, timbre)
        good = (wave.abs().amax(dim=1) < 2.0).nonzero().squeeze(1)
        rows = {
            "features": features.transpose(1, 2).half()[good].flatten(0, 1),
            "wave": wave.unflatten(1, (-1, FRAME)).half()[good].flatten(0, 1),
            "f0": f0[good].flatten(),
            "phase": accumulate_phase(f0)[good].flatten(),
            "clip": torch.arange(clips, clips + len(good), device=device).repeat_interleave(f0.shape[1]),
            "style": timbre[good],
            "statistics": utterance_statistics(features)[good],
        }
        clips += len(good)
        frames += len(rows["f0"])
        for name, value in rows.items():
            parts[name].append(value)
    return TeacherCache(**{name: torch.cat(values) for name, values in parts.items()})
