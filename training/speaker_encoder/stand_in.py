"""A small convolutional stand-in for the d-vector, which is recurrent and too slow for refinement on a CPU.

It reads the encoder's log-mel frames, so that both share them.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.encoder import DVECTOR, statistics
from speaker_encoder.features import BANDS


class StandIn(nn.Module):
    def __init__(self, width: int = 192, dilations: tuple[int, ...] = (1, 2, 4, 1, 2, 4)) -> None:
        super().__init__()
        self.entry = nn.Conv1d(BANDS, width, 5, 2, 2)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation),
                nn.ReLU(),
                nn.Conv1d(width, width, 1),
            )
            for dilation in dilations
        )
        self.out = nn.Linear(2 * width + 2 * BANDS, DVECTOR)

    def forward(self, mel: Tensor) -> Tensor:
        """Log-mel frames [B, T, 80] of a clip at the normal level → unit embeddings [B, 256]"""
        scaled = mel.transpose(1, 2) / 4 + 2
        x = F.relu(self.entry(scaled))
        for block in self.blocks:
            x = F.relu(x + block(x))
        return F.normalize(self.out(torch.cat([statistics(x), statistics(scaled)], dim=1)), dim=1)
