"""Exports an encoder to ONNX and checks it against torch.

python -m cloning.export ear.pt mapper.pt voice-encoder.onnx
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from cloning import encoder as encoders
from cloning.mapper import INPUTS, Guess
from cloning.sound import BANDS
from export import halve

OUTPUTS = ("heard", "better", "timbre", "melody", "layers", "log_pitch_scale")


class Exported(nn.Module):
    """From a clip's features to what the product keeps of a voice.

    Without a `person` (all zero) the clip is of the person, and the guess a first one. With one (`heard` of an earlier
    call) the clip is how a voice of the `guess` spoke, and the guess is a better one.
    """

    def __init__(self, encoder: encoders.Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, mel: Tensor, pitch: Tensor, person: Tensor, guess: Tensor) -> tuple[Tensor, ...]:
        heard, first = self.encoder(mel, pitch)
        better = self.encoder.mapper.corrected(person, heard, Guess.of(guess))
        guess = torch.where((person != 0).any(), better.vector(), first.vector())
        voice = self.encoder.axes.voice(Guess.of(guess))
        return heard, guess, voice.timbre, voice.melody, voice.layers, torch.log(voice.pitch_scale)


def example(frames: int, known: bool) -> dict[str, Tensor]:
    person, guess = torch.randn(1, INPUTS), 0.1 * torch.randn(1, Guess.SIZE)
    return {
        "mel": torch.randn(1, frames, BANDS) * 2 - 8,
        "pitch": torch.tensor([[5.0, 0.1, 0.5]]),
        "person": person * known,
        "guess": guess * known,
    }


def export(model: Exported, path: Path) -> None:
    inputs = example(500, known=True)
    torch.onnx.export(
        model,
        tuple(inputs.values()),
        str(path),
        input_names=list(inputs),
        output_names=list(OUTPUTS),
        dynamic_axes={"mel": {1: "frames"}},
        opset_version=20,
        dynamo=False,
    )
    stored = onnx.load(path)
    halve(stored)
    onnx.checker.check_model(stored)
    onnx.save(stored, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("ear", "mapper", "onnx"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    model = Exported(encoders.load(args.ear, args.mapper)).eval()
    export(model, args.onnx)
    session = onnxruntime.InferenceSession(args.onnx)
    worst = 0.0
    for frames, known in product((57, 500, 1999), (True, False)):
        inputs = example(frames, known)
        with torch.no_grad():
            wanted = model(*inputs.values())
        found = session.run(list(OUTPUTS), {name: value.numpy() for name, value in inputs.items()})
        differences = [np.abs(f - w.numpy()).max() for f, w in zip(found, wanted, strict=True)]
        worst = max(worst, *map(float, differences))
    print(f"{args.onnx.stat().st_size / 1e6:.1f} MB; largest difference from torch {worst:.1e}")
    if worst > 5e-3:
        raise SystemExit("the export differs")


if __name__ == "__main__":
    main()
