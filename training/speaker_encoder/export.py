"""Exports the voice encoder to ONNX and checks it against torch.

python -m speaker_encoder.export encoder.pt mapper.pt eres2net.pt voice-encoder.onnx
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from head.export import store_as_fp16
from speaker_encoder import rounding, voice_encoder
from speaker_encoder.features import BANDS
from speaker_encoder.mapper import build_inputs
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import pad_layers

INPUTS = ("mel", "pitch", "copy mel")
OUTPUTS = ("timbre", "layers", "abroad", "grain", "eres2net", "campplus", "mask")
"""Names in the exported graph: "layers" and "abroad" are the layer offsets, "grain" is the vocoder embedding."""


class ExportedEncoder(nn.Module):
    """From a clip's features to the parameters that the product keeps.

    What the copy of ERes2Net hears is an input of its own: it takes most of the time, and is not always needed.
    """

    def __init__(self, network: VoiceEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, mel: Tensor, pitch: Tensor, copy_mel: Tensor) -> tuple[Tensor, ...]:
        encoder = self.network.encoder
        embeddings = replace(encoder(mel), eres2net=encoder.eres2net_copy(copy_mel))
        predicted = self.network.mapper(build_inputs(embeddings, pitch))
        return (
            self.network.pca.to_timbre(predicted),
            pad_layers(predicted.layer_offsets),
            pad_layers(predicted.foreign_layer_offsets),
            predicted.vocoder_embedding,
            embeddings.eres2net,
            embeddings.campplus,
            predicted.mask_offset,
        )


def export(model: ExportedEncoder, path: Path) -> None:
    torch.onnx.export(
        model,
        (torch.randn(1, 500, BANDS), torch.tensor([[5.0, 0.1, 0.5]]), torch.randn(1, 400, BANDS)),
        str(path),
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        dynamic_axes={"mel": {1: "frames"}, "copy mel": {1: "copy frames"}},
        opset_version=20,
        dynamo=False,
    )
    graph = onnx.load(path)
    round_copy(graph)
    store_as_fp16(graph)
    onnx.checker.check_model(graph)
    onnx.save(graph, path)


def round_copy(model: onnx.ModelProto) -> None:
    """Stores the weights of ERes2Net's copy as int8: rounded already, they stay as they are."""
    graph, tensors, nodes = model.graph, [], []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name.startswith("network.encoder.eres2net_copy.") and values.ndim > 1:
            stored, made = rounding.store(values, tensor.name)
            tensors += stored
            nodes += made
        else:
            tensors.append(tensor)
    nodes += graph.node
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(tensors)
    graph.node.extend(nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("encoder", "mapper", "eres2net", "onnx"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    network = voice_encoder.load(args.encoder, args.mapper, args.eres2net)
    model = ExportedEncoder(network).eval()
    export(model, args.onnx)
    session = onnxruntime.InferenceSession(args.onnx)
    worst = 0.0
    for frames in (57, 500, 1999):
        mel, pitch = torch.randn(1, frames, BANDS) * 2 - 8, torch.tensor([[5.0, 0.1, 0.5]])
        with torch.no_grad():
            expected = model(mel, pitch, mel)
        inputs = dict(zip(INPUTS, (mel.numpy(), pitch.numpy(), mel.numpy()), strict=True))
        outputs = session.run(list(OUTPUTS), inputs)
        differences = [np.abs(a - b.numpy()).max() for a, b in zip(outputs, expected, strict=True)]
        worst = max(worst, *map(float, differences))
    print(f"{args.onnx.stat().st_size / 1e6:.1f} MB; largest difference from torch {worst:.1e}")
    if worst > 5e-3:
        raise SystemExit("the export differs from torch")


if __name__ == "__main__":
    main()
