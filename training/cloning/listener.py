"""Understands svc's own speech, phoneme by phoneme, so that a clone's words can be asked for.

The engine knows which phoneme it speaks when, so a minute of random voices is all that it takes.
"""

import random
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.shelf import random_voice
from cloning.sound import BANDS, level, log_mel
from cloning.speech import Speech, Spoken

SYMBOLS = 178


class Listener(nn.Module):
    def __init__(self, width: int = 256, blocks: int = 6) -> None:
        super().__init__()
        self.entry = nn.Conv1d(BANDS, width, 5, padding=2)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, width, 5, padding=2 * d, dilation=d))
            for d in (1, 2, 3, 1, 2, 3, 1, 2)[:blocks]
        )
        self.symbols = nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, SYMBOLS, 3, padding=1))

    def forward(self, spoken: Spoken) -> tuple[Tensor, Tensor]:
        """Cross-entropy and the share of right phonemes, for each voice. [B], [B]"""
        mel = log_mel(level(spoken.wave))
        x = self.entry((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2) / 3)
        for block in self.blocks:
            x = x + block(x)
        x = self.symbols(F.interpolate(x, size=len(spoken.symbols), mode="linear"))
        wanted = spoken.symbols.expand(len(x), -1)
        loss = F.cross_entropy(x, wanted, reduction="none").mean(dim=1)
        return loss, (x.argmax(dim=1) == wanted).float().mean(dim=1)


def train(speech: Speech, texts: list[list[int]], seconds: float, batch: int) -> Listener:
    """Learns from voices that speak clearly: random ones, no layer straying. It is frozen then."""
    device = speech.axes.offsets.device
    listener = Listener().to(device)
    optimiser = torch.optim.AdamW(listener.parameters(), 1e-3, weight_decay=0.01)
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        optimiser.param_groups[0]["lr"] = 1e-3 * max(0.02, 1 - elapsed / seconds)
        with torch.no_grad():
            spoken = speech(random.choice(texts), random_voice(speech.axes, batch), random.randrange(batch))
        optimiser.zero_grad()
        listener(spoken)[0].mean().backward()
        torch.nn.utils.clip_grad_norm_(listener.parameters(), 1.0)
        optimiser.step()
    return listener.eval().requires_grad_(False)
