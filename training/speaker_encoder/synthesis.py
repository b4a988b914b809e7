"""Speech in guessed voices, through Kokoro's front and our head, with a gradient to their timbres.

python -m cloning.speech kokoro.pt front.pt      # the front alone, in eight bits a weight (61 MB), to travel
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
import torchaudio
from torch import Tensor, nn

from cloning.axes import Axes, Voice
from cloning.eight_bits import packed, unpacked
from cloning.mapper import LAYERS, STYLE
from cloning.sound import RATE
from head import Head, cycles, statistics
from kokoro import SAMPLE_RATE, Kokoro

SYMBOL = RATE // 40
"""Samples of 25 ms."""


@dataclass
class Spoken:
    wave: Tensor  # [B, samples], 16 kHz
    f0: Tensor  # [B, frames]
    symbols: Tensor  # [samples / 400]: the phoneme of every 25 ms


class Speech(nn.Module):
    def __init__(self, kokoro: Kokoro, head: Head, axes: Axes) -> None:
        super().__init__()
        self.kokoro, self.head, self.axes = kokoro, head, axes
        self.requires_grad_(False)

    def forward(self, ids: list[int], voice: Voice, leader: int = 0) -> Spoken:
        """The phonemes in each of the voices, at the rhythm of the leader's: sounds of one length are fastest."""
        device, predictor = voice.timbre.device, self.kokoro.predictor
        tokens = torch.tensor([[0, *ids, 0]], device=device)
        centre = self.axes.centre[len(ids) - 1]
        timbre, melody = centre[:STYLE] + voice.timbre, centre[STYLE:] + voice.melody
        layers = timbre[:, None] + voice.layers
        words = self.kokoro.bert_encoder(self.kokoro.bert(tokens)).expand(len(melody), -1, -1)
        encoded = predictor.text_encoder(words, melody)
        frames = torch.round(predictor.durations(encoded[leader : leader + 1])[0]).clamp(min=1).long()
        index = torch.repeat_interleave(torch.arange(len(frames), device=device), frames)
        f0, energy = predictor.curves(encoded[:, index], melody)
        f0, energy = f0 * voice.pitch_scale[:, None], energy.expand(len(timbre), -1)
        text = self.kokoro.text_encoder(tokens)[:, :, index].expand(len(timbre), -1, -1)
        features = self.kokoro.decoder.features(text, f0, energy, layers[:, : LAYERS - 1])
        start = torch.zeros(len(timbre), dtype=torch.long, device=device)
        wave = self.head(features, f0, cycles(f0), layers[:, -1], statistics(features), start, voice.grain)
        wave = torchaudio.functional.resample(wave, SAMPLE_RATE, RATE)
        return Spoken(wave, f0, tokens[0, index])


def pack(source: Path, output: Path) -> None:
    """The generator stays behind."""
    weights = torch.load(source, map_location="cpu")
    torch.save(packed({name: x for name, x in weights.items() if not name.startswith("decoder.generator")}), output)


def unpack(path: Path) -> Kokoro:
    kokoro = Kokoro()
    missing, unexpected = kokoro.load_state_dict(unpacked(torch.load(path)), strict=False)
    assert not unexpected
    assert all(name.startswith("decoder.generator") for name in missing)
    kokoro.decoder.generator = nn.Identity()
    # Not eval(): cuDNN's LSTM refuses a backward pass there, and the model has no dropout.
    return kokoro.requires_grad_(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kokoro", type=Path)
    parser.add_argument("front", type=Path)
    args = parser.parse_args()
    pack(args.kokoro, args.front)
    print(f"{args.front.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
