"""Training data of the prosody: durations, F0 and energy that the teacher predicts, kept in GPU memory."""

import math
import random
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from acoustic.batched_teacher import BatchedProsody
from acoustic.voice_sampler import VoiceSampler
from teacher.kokoro import Kokoro

FRAMES_PER_HOUR = 40 * 3600
"""Frames of 25 ms."""


@dataclass
class ProsodyCache:
    """Utterances laid end to end."""

    ids: Tensor  # [tokens], uint8
    durations: Tensor  # [tokens], as the teacher predicts them
    spoken: Tensor  # [tokens], rounded, at the utterance's speed
    f0: Tensor  # [frames, 2], fp16
    energy: Tensor  # [frames, 2], fp16
    style: Tensor  # [utterances, 128]
    tokens: Tensor  # [utterances]: how many
    frames: Tensor  # [utterances]

    def __post_init__(self) -> None:
        self.first_token = torch.cumsum(self.tokens, 0) - self.tokens
        self.first_frame = torch.cumsum(self.frames, 0) - self.frames
        self.order = torch.argsort(self.frames)

    @property
    def hours(self) -> float:
        return len(self.f0) / FRAMES_PER_HOUR

    def make_batch(self, chosen: Tensor) -> dict[str, Tensor]:
        """Padded tensors of these utterances, with masks."""
        device = self.ids.device
        place = torch.arange(int(self.tokens[chosen].max()), device=device)[None]
        mask = place < self.tokens[chosen][:, None]
        token = (self.first_token[chosen][:, None] + place).clamp(max=len(self.ids) - 1)
        place = torch.arange(int(self.frames[chosen].max()), device=device)[None]
        frame_mask = place < self.frames[chosen][:, None]
        frame = (self.first_frame[chosen][:, None] + place).clamp(max=len(self.f0) - 1)
        return {
            "ids": self.ids[token].long() * mask,
            "mask": mask,
            "durations": self.durations[token] * mask,
            "spoken": self.spoken[token].long() * mask,
            "style": self.style[chosen],
            "frame_mask": frame_mask,
            "f0": (self.f0[frame].float() * frame_mask[..., None]).flatten(1),
            "energy": (self.energy[frame].float() * frame_mask[..., None]).flatten(1),
        }

    def sample(self, frames: int) -> dict[str, Tensor]:
        """Utterances of similar lengths, about so many frames together."""
        start = random.randrange(len(self.order))
        longest = max(24, int(self.frames[self.order[start]]))
        count = max(4, frames // longest)
        start = max(0, min(start, len(self.order) - count))
        return self.make_batch(self.order[start : start + count])


@torch.no_grad()
def synthesize(
    teacher: Kokoro,
    voices: VoiceSampler,
    texts: list[np.ndarray],
    hours: float = math.inf,
    batch: int = 256,
    built_in: bool = False,
) -> ProsodyCache:
    """Each text in one voice, then again in others, until there are that many hours.

    `built_in`: each text once, in a built-in voice at its own speed, for validation.
    """
    predictor = BatchedProsody(teacher)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    groups = [order[i : i + batch] for i in range(0, len(order), batch)]
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(ProsodyCache)}
    frames = 0
    while True:
        random.shuffle(groups)
        for group in groups:
            rows = _speak_group(predictor, voices, [texts[i] for i in group], built_in)
            frames += len(rows["f0"])
            for name, value in rows.items():
                parts[name].append(value)
            if frames >= hours * FRAMES_PER_HOUR:
                break
        if built_in or frames >= hours * FRAMES_PER_HOUR:
            cache = ProsodyCache(**{name: torch.cat(values) for name, values in parts.items()})
            if voices.device.type == "cuda":
                torch.cuda.empty_cache()
            return cache


def pad_texts(texts: list[np.ndarray], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids [B, N] on the device, with the padding at both ends, and lengths [B] on the CPU."""
    lengths = torch.tensor([len(text) + 2 for text in texts])
    ids = torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
    for row, text in zip(ids, texts, strict=True):
        row[1 : len(text) + 1] = torch.from_numpy(text.astype(np.int64))
    return ids.to(device), lengths


def _speak_group(
    predictor: BatchedProsody, voices: VoiceSampler, texts: list[np.ndarray], built_in: bool
) -> dict[str, Tensor]:
    device, count = voices.device, len(texts)
    ids, lengths = pad_texts(texts, device)
    speed = None
    if built_in:
        style = voices.sample_built_in((lengths - 2).to(device))
    else:
        style = voices.sample_for(lengths - 2).prosody
        # A voice keeps its melody at another speed, so the curves must be learned at all of them.
        speed = torch.exp(0.25 * torch.randn(count, device=device)).clamp(0.6, 1.6)
        speed = torch.where(torch.rand(count, device=device) < 0.6, 1.0, speed)
    predicted, rounded, f0, energy = predictor.predict(ids, lengths, style, speed)
    present = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(device)
    frames = rounded.sum(dim=1)
    frame_present = torch.arange(f0.shape[1] // 2, device=device)[None] < frames[:, None]
    return {
        "ids": ids[present].to(torch.uint8),
        "durations": predicted[present],
        "spoken": rounded[present].to(torch.int16),
        "f0": f0.view(count, -1, 2)[frame_present].half(),
        "energy": energy.view(count, -1, 2)[frame_present].half(),
        "style": style,
        "tokens": lengths.to(device),
        "frames": frames,
    }
