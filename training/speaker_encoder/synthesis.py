"""Differentiable synthesis: Kokoro's acoustic model and the head, with a gradient to the voice parameters."""

from dataclasses import dataclass
from pathlib import Path

import torch
import torchaudio
from torch import Tensor, nn

from head import export as head_export
from head.model import Head, accumulate_phase, utterance_statistics
from speaker_encoder.features import RATE
from speaker_encoder.mapper import LAYERS, STYLE
from speaker_encoder.voice_pca import Voice, VoicePca
from teacher import port
from teacher.kokoro import SAMPLE_RATE, Kokoro

PHONEME_FRAME = RATE // 40
"""Samples of 25 ms."""


@dataclass
class Speech:
    wave: Tensor  # [B, samples], 16 kHz
    f0: Tensor  # [B, frames]
    phonemes: Tensor  # [samples / 400]: the phoneme of every 25 ms


class Synthesis(nn.Module):
    def __init__(self, kokoro: Kokoro, head: Head, pca: VoicePca) -> None:
        super().__init__()
        self.kokoro, self.head, self.pca = kokoro, head, pca
        self.requires_grad_(False)

    def forward(self, ids: list[int], voice: Voice, leader: int = 0) -> Speech:
        """The phonemes in each of the voices, with the durations of voice `leader`: clips of one length are fastest."""
        device, predictor = voice.timbre.device, self.kokoro.predictor
        tokens = torch.tensor([[0, *ids, 0]], device=device)
        centre = self.pca.centre[len(ids) - 1]
        timbre, melody = centre[:STYLE] + voice.timbre, centre[STYLE:] + voice.melody
        layers = timbre[:, None] + voice.layer_offsets
        words = self.kokoro.bert_encoder(self.kokoro.bert(tokens)).expand(len(melody), -1, -1)
        encoded = predictor.text_encoder(words, melody)
        frames = torch.round(predictor.durations(encoded[leader : leader + 1])[0]).clamp(min=1).long()
        index = torch.repeat_interleave(torch.arange(len(frames), device=device), frames)
        f0, energy = predictor.curves(encoded[:, index], melody)
        f0, energy = f0 * voice.pitch_scale[:, None], energy.expand(len(timbre), -1)
        text = self.kokoro.text_encoder(tokens)[:, :, index].expand(len(timbre), -1, -1)
        features = self.kokoro.decoder.features(text, f0, energy, layers[:, : LAYERS - 1])
        wave = self.head(
            features,
            f0,
            accumulate_phase(f0),
            layers[:, -1],
            utterance_statistics(features),
            torch.zeros(len(timbre), dtype=torch.long, device=device),
            voice.vocoder_embedding,
        )
        wave = torchaudio.functional.resample(wave, SAMPLE_RATE, RATE)
        return Speech(wave, f0, tokens[0, index])


def load(teacher: Path, head: Path, pca: VoicePca) -> Synthesis:
    """From kokoro.pt and an exported head."""
    kokoro = port.load(teacher)
    kokoro.decoder.generator = nn.Identity()  # the head replaces it
    return Synthesis(kokoro, head_export.restore(head), pca)
