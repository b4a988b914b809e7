"""Synthesises batches of texts with svc-turbo 2's networks in torch, with a gradient to timbre and prosody."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torchaudio
from torch import Tensor

from acoustic import model
from head.model import FRAME, accumulate_phase

RATE, LISTENERS_RATE = 24_000, 16_000
FRAME_SAMPLES = 2 * FRAME * LISTENERS_RATE // RATE
"""Samples at the listeners' rate of a frame of 25 ms."""
ONSET_LEAD, LEADING_SILENCE = 3, 2
"""In frames of 25 ms, as the service cuts the silence before the first phoneme."""


@dataclass
class Clips:
    """A batch of texts, spoken at the listeners' rate."""

    wave: Tensor  # [B, samples]
    start: list[int]
    """The first sample of each that is heard."""
    end: list[int]

    def cut(self, index: int) -> Tensor:
        return self.wave[index, self.start[index] : self.end[index]]


class Synthesis:
    def __init__(self, run: Path, device: torch.device) -> None:
        self.device = device
        self.prosody, self.decoder, self.head = (
            model.load(name, run).to(device).eval().requires_grad_(False) for name in ("prosody", "decoder", "head")
        )

    def predict_pitch(self, ids: Tensor, mask: Tensor, style: Tensor) -> Tensor:
        """The mean of the logarithm of the pitch. [B]"""
        film = self.prosody.make_film(style)
        encoded = self.prosody.encode(ids, film, mask)
        durations = torch.round(self.prosody.predict_durations(encoded)).clamp(min=1).long() * mask
        return self.prosody.predict_summary(encoded, durations)[:, 1]

    def predict_seconds(self, ids: Tensor, mask: Tensor, style: Tensor) -> Tensor:
        encoded = self.prosody.encode(ids, self.prosody.make_film(style), mask)
        return (self.prosody.predict_durations(encoded) * mask).sum(dim=1) / 40

    def __call__(
        self, texts: Sequence[Sequence[int]], style: Tensor, timbre: Tensor, pitch_scale: Tensor, embedding: Tensor
    ) -> Clips:
        """texts as phoneme ids; style [B, 128], timbre [B, 11, 128], pitch_scale [B], embedding [B, 256]"""
        ids, mask = pad_texts(texts, self.device)
        prosody, decoder, head = self.prosody, self.decoder, self.head
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            film = prosody.make_film(style)
            encoded = prosody.encode(ids, film, mask)
            with torch.no_grad():
                durations = torch.round(prosody.predict_durations(encoded)).clamp(min=1).long() * mask
                frames = durations.sum(dim=1)
                count = int(frames.max())
                token, place = model.expand_tokens(durations, count)
                duration = durations.gather(1, token)
                present = torch.arange(count, device=self.device)[None] < frames[:, None]
            curves = prosody.predict_curves(encoded, token, place, duration, film, present)
            half = present.repeat_interleave(2, dim=1)
            f0, energy = (each * half for each in model.decode_curves(curves))
            f0 = f0 * pitch_scale[:, None]
            curve_summary = prosody.predict_summary(encoded, durations)
            shift = torch.zeros_like(curve_summary)
            shift[:, 1] = torch.log(pitch_scale)
            summary = model.summarise(ids, durations, curve_summary + shift)
            film, statistics = decoder.make_film(timbre, summary)
            text = decoder.text(ids, mask)
            text = text.gather(1, token[:, :, None].expand(-1, -1, text.shape[2]))
            features = decoder(text, place, duration, f0, energy, film, present)
            head_film = head.make_film(timbre[:, -1], statistics, embedding)
            position = torch.zeros(len(ids), dtype=torch.int64, device=self.device)
            # The phase is a sum over the past: its gradient would be noise.
            f0 = f0.detach()
            wave = head(features, f0, accumulate_phase(f0), head_film, position, mask=half[..., None].float())
        wave = torchaudio.functional.resample(wave.float(), RATE, LISTENERS_RATE)
        start = (durations[:, 0] - ONSET_LEAD - LEADING_SILENCE).clamp(min=0) * FRAME_SAMPLES
        return Clips(wave, start.tolist(), (frames * FRAME_SAMPLES).tolist())


def pad_texts(texts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids with the padding token at both ends, and where they are. [B, N] twice"""
    length = max(map(len, texts)) + 2
    ids = torch.zeros(len(texts), length, dtype=torch.int64)
    for row, text in zip(ids, texts, strict=True):
        row[1 : len(text) + 1] = torch.tensor(text)
    lengths = torch.tensor([len(text) + 2 for text in texts])
    return ids.to(device), (torch.arange(length)[None] < lengths[:, None]).to(device)
