"""Exports an encoder to ONNX and checks it against torch; what it says of whole languages goes to a file beside it.

python -m cloning.export ear.pt mapper.pt voice-encoder.onnx accents.npz
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from cloning import encoder as encoders
from cloning.axes import accent, all_layers
from cloning.mapper import INPUTS, Mapper
from cloning.sound import BANDS
from export import halve

LANGUAGES = {"e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt-br", "z": "zh"}
"""Those that have an accent, by Kokoro's letters and as the product calls them."""
OUTPUTS = ("timbre", "layers", "abroad", "grain", "embedding")


class Exported(nn.Module):
    """From a clip's features to what the product keeps of a voice."""

    def __init__(self, encoder: encoders.Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Tensor, ...]:
        heard, guess = self.encoder(mel, pitch)
        timbre = self.encoder.axes.timbre_of(guess)
        return timbre, all_layers(guess.layers), all_layers(guess.abroad), guess.grain, heard.embedding


def export(model: Exported, path: Path) -> None:
    torch.onnx.export(
        model,
        (torch.randn(1, 500, BANDS), torch.tensor([[5.0, 0.1, 0.5]])),
        str(path),
        input_names=["mel", "pitch"],
        output_names=list(OUTPUTS),
        dynamic_axes={"mel": {1: "frames"}},
        opset_version=20,
        dynamo=False,
    )
    stored = onnx.load(path)
    halve(stored)
    onnx.checker.check_model(stored)
    onnx.save(stored, path)


@torch.no_grad()
def export_accents(mapper: Mapper, path: Path) -> None:
    guess = mapper(torch.zeros(1, INPUTS))  # accents are the same for everybody
    parts = {}
    for letter, name in LANGUAGES.items():
        found = accent(guess, letter)
        parts |= {f"{name} offset": found.offset, f"{name} shares": found.shares}
    np.savez_compressed(path, **{name: part.half().numpy().squeeze() for name, part in parts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ear", type=Path)
    parser.add_argument("mapper", type=Path)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("accents", type=Path)
    args = parser.parse_args()
    encoder = encoders.load(args.ear, args.mapper)
    export_accents(encoder.mapper, args.accents)
    model = Exported(encoder).eval()
    export(model, args.onnx)
    session = onnxruntime.InferenceSession(args.onnx)
    worst = 0.0
    for frames in (57, 500, 1999):
        mel, pitch = torch.randn(1, frames, BANDS) * 2 - 8, torch.tensor([[5.0, 0.1, 0.5]])
        with torch.no_grad():
            wanted = model(mel, pitch)
        found = session.run(list(OUTPUTS), {"mel": mel.numpy(), "pitch": pitch.numpy()})
        differences = [np.abs(f - w.numpy()).max() for f, w in zip(found, wanted, strict=True)]
        worst = max(worst, *map(float, differences))
    print(f"{args.onnx.stat().st_size / 1e6:.1f} MB; largest difference from torch {worst:.1e}")
    if worst > 5e-3:
        raise SystemExit("the export differs")


if __name__ == "__main__":
    main()
