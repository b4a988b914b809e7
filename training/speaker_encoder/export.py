"""Exports the voice encoder to ONNX, encoder and mapper each as a graph, and checks them against torch.

python -m speaker_encoder.export encoder.pt mapper.pt eres2net.pt FOLDER

writes FOLDER/voice-encoder.onnx and FOLDER/voice-mapper.onnx. The product asks the mapper twice for a clone.
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
from speaker_encoder.encoder import DVECTOR, EMBEDDING, Embeddings
from speaker_encoder.features import BANDS
from speaker_encoder.mapper import build_inputs
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import pad_layers

EMBEDDINGS = ("eres2net", "campplus", "dvector")
HEARD = ("mel", "copy mel")
PARAMETERS = ("timbre", "layers", "abroad", "grain", "mask")
"""Names in the exported graph: "layers" and "abroad" are the layer offsets, "grain" is the vocoder embedding."""


class ExportedEncoder(nn.Module):
    """From a clip's features to its embeddings.

    What the copy of ERes2Net hears is an input of its own: it takes most of the time, and is not always needed.
    """

    INPUTS, OUTPUTS, DYNAMIC_AXES = HEARD, EMBEDDINGS, {"mel": {1: "frames"}, "copy mel": {1: "copy frames"}}

    def __init__(self, network: VoiceEncoder) -> None:
        super().__init__()
        self.encoder = network.encoder

    def forward(self, mel: Tensor, copy_mel: Tensor) -> tuple[Tensor, ...]:
        embeddings = replace(self.encoder(mel), eres2net=self.encoder.eres2net_copy(copy_mel))
        return tuple(getattr(embeddings, name) for name in EMBEDDINGS)


class ExportedMapper(nn.Module):
    """From embeddings and pitch to the parameters that the product keeps."""

    INPUTS, OUTPUTS, DYNAMIC_AXES = (*EMBEDDINGS, "pitch"), PARAMETERS, {}

    def __init__(self, network: VoiceEncoder) -> None:
        super().__init__()
        self.mapper, self.pca = network.mapper, network.pca

    def forward(self, eres2net: Tensor, campplus: Tensor, dvector: Tensor, pitch: Tensor) -> tuple[Tensor, ...]:
        predicted = self.mapper(build_inputs(Embeddings(eres2net, campplus, dvector), pitch))
        return (
            self.pca.to_timbre(predicted),
            pad_layers(predicted.layer_offsets),
            pad_layers(predicted.foreign_layer_offsets),
            predicted.vocoder_embedding,
            predicted.mask_offset,
        )


def export(model: ExportedEncoder | ExportedMapper, inputs: tuple[Tensor, ...], path: Path) -> None:
    torch.onnx.export(
        model,
        inputs,
        str(path),
        input_names=list(model.INPUTS),
        output_names=list(model.OUTPUTS),
        dynamic_axes=model.DYNAMIC_AXES,
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
        if tensor.name.startswith("encoder.eres2net_copy.") and values.ndim > 1:
            stored, made = rounding.store(values, tensor.name)
            tensors += stored
            nodes += made
        else:
            tensors.append(tensor)
    nodes += graph.node
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(tensors)
    graph.node.extend(nodes)


def measure_difference(model: ExportedEncoder | ExportedMapper, inputs: tuple[Tensor, ...], path: Path) -> float:
    """The largest one between torch and ONNX Runtime."""
    with torch.no_grad():
        expected = model(*inputs)
    given = {name: value.numpy() for name, value in zip(model.INPUTS, inputs, strict=True)}
    outputs = onnxruntime.InferenceSession(path).run(list(model.OUTPUTS), given)
    return max(float(np.abs(a - b.numpy()).max()) for a, b in zip(outputs, expected, strict=True))


def export_both(network: VoiceEncoder, folder: Path) -> float:
    """The largest difference of the graphs from torch."""
    encoder, mapper = ExportedEncoder(network).eval(), ExportedMapper(network).eval()
    encoder_path, mapper_path = folder / "voice-encoder.onnx", folder / "voice-mapper.onnx"
    clips = [torch.randn(1, frames, BANDS) * 2 - 8 for frames in (57, 500, 1999)]
    embeddings = (torch.randn(1, size) / size**0.5 for size in (EMBEDDING, EMBEDDING, DVECTOR))
    inputs = (*embeddings, torch.tensor([[5.0, 0.1, 0.5]]))
    export(encoder, (clips[1], clips[0]), encoder_path)
    export(mapper, inputs, mapper_path)
    differences = [measure_difference(encoder, (clip, clip), encoder_path) for clip in clips]
    return max(*differences, measure_difference(mapper, inputs, mapper_path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("encoder", "mapper", "eres2net", "folder"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    worst = export_both(voice_encoder.load(args.encoder, args.mapper, args.eres2net), args.folder)
    print(f"largest difference from torch {worst:.1e}")
    if worst > 5e-3:
        raise SystemExit("the export differs from torch")


if __name__ == "__main__":
    main()
