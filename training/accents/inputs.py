"""What every stage reads: the networks, the voices, the texts. One folder holds all."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from accents import voices, whisper
from accents.accents import fit_pitch_axis
from accents.guards import Guards
from accents.speech import Synthesis
from accents.voices import Voices
from accents.whisper import Whisper
from accents.windows import Texts

ENGLISH_TEXTS = range(50, 90)
"""Phonemes of the English texts that voices are measured with."""


@dataclass
class Inputs:
    folder: Path
    device: torch.device
    synthesis: Synthesis
    voices: Voices
    texts: Texts
    whisper: Whisper
    guards: Guards

    @classmethod
    def load(cls, folder: Path) -> "Inputs":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        return cls(
            folder,
            device,
            Synthesis(folder / "acoustic", device),
            voices.load(folder / "voices.npz", device),
            Texts(folder / "texts.json", folder / "tokenizer.json"),
            whisper.load(folder / "base.pt", "base").to(device),
            Guards(folder / "frozen", device),
        )

    def read_english(self, count: int) -> list[list[int]]:
        texts = [text.ids for text in self.texts.read("training", "en-us") if len(text.ids) in ENGLISH_TEXTS]
        return texts[:count]

    def load_pitch_axis(self) -> Tensor:
        """Fitted once; kept beside the rest."""
        path = self.folder / "pitch-axis.pt"
        if not path.exists():
            axis, explained = fit_pitch_axis(self.synthesis, self.voices, self.read_english(16))
            print(f"the pitch axis explains {explained:.3f} of the pitch", flush=True)
            torch.save(axis.cpu(), path)
        return torch.load(path).to(self.device)
