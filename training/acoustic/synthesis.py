"""Synthesises batches of texts with the networks in torch, with a gradient to style and timbre."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from acoustic import model
from head.model import accumulate_phase
from steps.optimisation import autocast


@dataclass
class Speech:
    wave: Tensor  # [B, samples], 24 kHz
    durations: Tensor  # [B, N], in frames of 25 ms
    frames: Tensor  # [B]


class Networks:
    def __init__(self, run: Path, device: torch.device) -> None:
        """From the folder of a training."""
        self.device = device
        self.prosody, self.decoder, self.head = (
            model.load(name, run).to(device).eval().requires_grad_(False) for name in ("prosody", "decoder", "head")
        )

    def predict_durations(self, encoded: Tensor, mask: Tensor) -> Tensor:
        """Whole frames of 25 ms. [B, N]"""
        return torch.round(self.prosody.predict_durations(encoded)).clamp(min=1).long() * mask

    def synthesize(
        self,
        ids: Tensor,
        mask: Tensor,
        style: Tensor,
        timbre: Tensor,
        pitch_scale: Tensor | None = None,
        vocoder_embedding: Tensor | None = None,
        mask_offset: Tensor | None = None,
    ) -> Speech:
        """ids, mask [B, N], style [B, 128], timbre [B, 11, 128], pitch_scale [B], vocoder_embedding [B, 256],
        mask_offset [B, 2408]"""
        prosody, decoder, head = self.prosody, self.decoder, self.head
        with autocast(self.device):
            film = prosody.make_film(style)
            encoded = prosody.encode(ids, film, mask)
            with torch.no_grad():
                durations = self.predict_durations(encoded, mask)
                frames = durations.sum(dim=1)
                count = int(frames.max())
                token, place = model.expand_tokens(durations, count)
                duration = durations.gather(1, token)
                present = torch.arange(count, device=self.device)[None] < frames[:, None]
            curves = prosody.predict_curves(encoded, token, place, duration, film, present)
            half = present.repeat_interleave(2, dim=1)
            f0, energy = (each * half for each in model.decode_curves(curves))
            curve_summary = prosody.predict_summary(encoded, durations)
            if pitch_scale is not None:
                f0 = f0 * pitch_scale[:, None]
                shift = torch.zeros_like(curve_summary)
                shift[:, 1] = torch.log(pitch_scale)
                curve_summary = curve_summary + shift
            summary = model.summarise(ids, durations, curve_summary)
            film, statistics = decoder.make_film(timbre, summary)
            text = decoder.text(ids, mask)
            text = text.gather(1, token[:, :, None].expand(-1, -1, text.shape[2]))
            features = decoder(text, place, duration, f0, energy, film, present)
            head_film = head.make_film(timbre[:, -1], statistics, vocoder_embedding)
            position = torch.zeros(len(ids), dtype=torch.int64, device=self.device)
            # The phase is a sum over the past: its gradient would be noise.
            f0 = f0.detach()
            present = half[..., None].float()
            wave = head(features, f0, accumulate_phase(f0), head_film, position, mask_offset, mask=present)
        return Speech(wave, durations, frames)
