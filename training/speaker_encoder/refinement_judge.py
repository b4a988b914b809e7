"""The judge of refinement: a small network that stands in for those that are too slow for a step on a CPU.

It hears the log-mel frames of three seconds of speech and predicts CAM++'s embedding, VoiceFilter's d-vector and
DistillMOS, and which phonemes are spoken. `train_refinement_judge.py` trains it on what refinement makes of voices.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from acoustic.model import SYMBOLS, MaskedBlock
from speaker_encoder.encoder import DVECTOR, EMBEDDING, statistics
from speaker_encoder.features import BANDS

WIDTH, INNER, KERNEL, BLOCKS = 256, 768, 9, 8
HIDDEN = 512
NATURAL = 4.4
"""DistillMOS of a usual clone: what the network starts from."""


@dataclass
class Judgement:
    campplus: Tensor  # [B, 192], unit length
    dvector: Tensor  # [B, 256], unit length
    naturalness: Tensor  # [B]: DistillMOS
    phonemes: Tensor  # [B, T / 2, 178]: log probabilities, every 20 ms


class RefinementJudge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Conv1d(BANDS, WIDTH, 5, stride=2, padding=2)
        self.blocks = nn.ModuleList(MaskedBlock(WIDTH, INNER, KERNEL) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.phonemes = nn.Linear(WIDTH, SYMBOLS)
        self.hidden = nn.Linear(2 * WIDTH, HIDDEN)
        self.campplus = nn.Linear(HIDDEN, EMBEDDING)
        self.dvector = nn.Linear(HIDDEN, DVECTOR)
        self.naturalness = nn.Linear(HIDDEN, 1)
        # The phoneme loss of clones before refinement: what is not worse need not be improved.
        self.register_buffer("clear_enough", torch.zeros(()))

    def forward(self, mel: Tensor) -> Judgement:
        """`mel` [B, T, 80] of speech at the normal level, after the equalizer."""
        x = self.entry((mel / 4 + 2).transpose(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = block(x, None, None, None)
        x = self.norm(x)
        pooled = F.gelu(self.hidden(statistics(x.transpose(1, 2))))
        return Judgement(
            F.normalize(self.campplus(pooled), dim=1),
            F.normalize(self.dvector(pooled), dim=1),
            NATURAL + self.naturalness(pooled)[:, 0],
            F.log_softmax(self.phonemes(x), dim=2),
        )


def measure_phoneme_loss(logs: Tensor, phonemes: Tensor) -> Tensor:
    """Cross-entropy of log probabilities [B, T, 178] with phonemes [B, T]. [B]"""
    spoken = phonemes[:, :, None] == torch.arange(SYMBOLS, device=phonemes.device)
    return -(logs * spoken).sum(dim=(1, 2)) / logs.shape[1]


def resample_phonemes(phonemes: Tensor, count: int) -> Tensor:
    """From frames of 25 ms to `count` of 20 ms. [B, frames] → [B, count]"""
    place = (torch.arange(count, device=phonemes.device) * 4 + 2) // 5
    return phonemes[:, place.clamp(max=phonemes.shape[1] - 1)]


def save(judge: RefinementJudge, path: Path) -> None:
    """In fp16."""
    torch.save({name: value.half() for name, value in judge.state_dict().items()}, path)


def load(path: Path) -> RefinementJudge:
    judge = RefinementJudge()
    judge.load_state_dict({k: v.float() for k, v in torch.load(path, map_location="cpu").items()})
    return judge.eval().requires_grad_(False)
