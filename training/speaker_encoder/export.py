"""Exports the voice encoder to ONNX and checks it against torch.

python -m speaker_encoder.export encoder.pt mapper.pt voice-encoder.onnx
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from head.export import store_as_fp16
from speaker_encoder import voice_encoder
from speaker_encoder.features import BANDS
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import pad_layers

OUTPUTS = ("timbre", "layers", "abroad", "grain", "embedding", "mask")
"""Names in the exported graph: "layers" and "abroad" are the layer offsets, "grain" is the vocoder embedding."""


class ExportedEncoder(nn.Module):
    """From a clip's features to the parameters that the product keeps."""

    def __init__(self, network: VoiceEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Tensor, ...]:
        embeddings, predicted = self.network(mel, pitch)
        return (
            self.network.pca.to_timbre(predicted),
            pad_layers(predicted.layer_offsets),
            pad_layers(predicted.foreign_layer_offsets),
            predicted.vocoder_embedding,
            embeddings.joint,
            predicted.mask_offset,
        )


def export(model: ExportedEncoder, path: Path) -> None:
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
    graph = onnx.load(path)
    store_as_fp16(graph)
    onnx.checker.check_model(graph)
    onnx.save(graph, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("encoder", "mapper", "onnx"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    network = voice_encoder.load(args.encoder, args.mapper)
    model = ExportedEncoder(network).eval()
    export(model, args.onnx)
    session = onnxruntime.InferenceSession(args.onnx)
    worst = 0.0
    for frames in (57, 500, 1999):
        mel, pitch = torch.randn(1, frames, BANDS) * 2 - 8, torch.tensor([[5.0, 0.1, 0.5]])
        with torch.no_grad():
            expected = model(mel, pitch)
        outputs = session.run(list(OUTPUTS), {"mel": mel.numpy(), "pitch": pitch.numpy()})
        differences = [np.abs(a - b.numpy()).max() for a, b in zip(outputs, expected, strict=True)]
        worst = max(worst, *map(float, differences))
    print(f"{args.onnx.stat().st_size / 1e6:.1f} MB; largest difference from torch {worst:.1e}")
    if worst > 5e-3:
        raise SystemExit("the export differs from torch")


if __name__ == "__main__":
    main()
