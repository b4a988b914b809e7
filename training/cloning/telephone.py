"""What a telephone does to an embedding is much the same for everybody, so it can be taken off again.

    python -m cloning.telephone speakers.pt ear.pt telephone.pt

measures it on the speakers that the ear never learned from.
"""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning import encoder as encoders
from cloning import speakers
from cloning.ear import EMBEDDING, Ear, Heard
from cloning.shelf import unit_halves
from cloning.sound import RATE, level, log_mel

LONGEST = 10 * RATE
LOWEST, HIGHEST = 300, 3400
"""Hz, of a telephone's band."""
LOW, MIDDLE, HIGH = slice(1, 7), slice(16, 52), slice(60, 76)
"""Bands of the features: below 220 Hz, 500 Hz to 3 kHz, 3.9 to 7 kHz."""
THERE, LOST = -5.0, -8.0
"""How much more is in the low or high ones than in the middle, in the logarithm of power, if they are there or lost.

Recordings have -4.6 to 2.7 (also at 8 kHz, below), telephones -14 to -8.7.
"""


class Telephone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(2, EMBEDDING))

    def forward(self, heard: Heard, mel: Tensor) -> Heard:
        """What would have been heard without one."""
        share = torch.minimum(lost(mel, LOW), lost(mel, HIGH))[:, None]
        eres2net, campplus = self.shift
        return Heard(
            F.normalize(heard.eres2net - share * eres2net, dim=1), F.normalize(heard.campplus - share * campplus, dim=1)
        )


def lost(mel: Tensor, bands: slice) -> Tensor:
    """0 where these bands are there, 1 where nothing is left in them. [B, T, 80] → [B]"""
    loudness = mel.mean(dim=2)
    loud = (loudness >= loudness.mean(dim=1, keepdim=True)).float()
    difference = mel[..., bands].mean(dim=2) - mel[..., MIDDLE].mean(dim=2)
    more = (difference * loud).sum(dim=1) / loud.sum(dim=1).clamp(min=1)  # of silence there may be none
    return ((THERE - more) / (THERE - LOST)).clamp(0, 1)


def phoned(wave: Tensor) -> Tensor:
    spectrum = torch.fft.rfft(wave)
    hertz = torch.fft.rfftfreq(wave.shape[1], 1 / RATE)
    return torch.fft.irfft(spectrum * ((hertz >= LOWEST) & (hertz <= HIGHEST)), wave.shape[1])


@torch.no_grad()
def measure(ear: Ear, telephone: Telephone, clips: list[speakers.Clip]) -> tuple[Tensor, Tensor]:
    """A clip of each speaker: heard clean, and through a telephone. [speakers, 384] each"""

    def heard(wave: Tensor) -> Tensor:
        mel = log_mel(level(wave))
        return telephone(ear(mel), mel).embedding

    waves = [clip.wave[None, :LONGEST] for clip in {clip.speaker: clip for clip in clips}.values()]
    return torch.cat([heard(wave) for wave in waves]), torch.cat([heard(phoned(wave)) for wave in waves])


def likeness(one: Tensor, other: Tensor) -> str:
    """Of embeddings, ERes2Net's half and CAM++'s."""
    products = (unit_halves(one) * unit_halves(other)).unflatten(1, (2, EMBEDDING)).sum(dim=2).mean(dim=0)
    return ", ".join(f"{value:.3f}" for value in products.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("speakers", "ear", "telephone"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    ear = encoders.load_ear(args.ear)
    training, held_back = speakers.load(args.speakers)
    telephone = Telephone()
    print(f"validation speakers, through a telephone: {likeness(*measure(ear, telephone, held_back))} like without")
    clean, narrow = measure(ear, telephone, speakers.apart(training)[0])
    telephone.shift.copy_((narrow - clean).mean(dim=0).unflatten(0, (2, EMBEDDING)))
    torch.save(telephone.state_dict(), args.telephone)
    print(f"what it does taken off: {likeness(*measure(ear, telephone, held_back))}")


if __name__ == "__main__":
    main()
