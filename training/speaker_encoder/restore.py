"""Reads the exported voice encoder back into the two checkpoints that training continues from.

    python -m speaker_encoder.restore ../src/svc/data FOLDER

reads voice-encoder.onnx and voice-mapper.onnx, and writes FOLDER/encoder.pt and FOLDER/mapper.pt.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from speaker_encoder import eres2net, rounding, voice_encoder
from speaker_encoder.encoder import SpeakerEncoder
from speaker_encoder.mapper import WIDTH, Mapper
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import VoicePca

FOLDED_NORMS = {
    "stem": "stem_norm",
    "last": "last_norm",
    "entry": "entry_norm",
    "first": "first_norm",
    "second": "second_norm",
    "narrow": "inner_norm",
    "skip.0": "skip.1",
    "groups.2.halve": "out_norm",
}
"""The norms of the encoder that the exporter folds into the convolution before them."""
NOT_SHIPPED = ("encoder.eres2net.", "mapper.correction.")
WEIGHT_SCALE = 0.1
"""Usual root mean square of weights. With a norm folded in, some are a hundred times smaller: a training step would be
too large for them."""


def restore(folder: Path, *, rescale: bool = True) -> VoiceEncoder:
    """Without `rescale`, weights into which a norm was folded stay as they are stored, bit by bit."""
    graph = onnx.load(folder / "voice-encoder.onnx").graph
    tensors = _read_weights(graph)
    weights = tensors | _read_weights(onnx.load(folder / "voice-mapper.onnx").graph)
    mapper = Mapper(len(weights["mapper.entry.bias"]) // WIDTH)
    network = VoiceEncoder(SpeakerEncoder(eres2net.make_folded()), mapper, VoicePca())
    for node in graph.node:
        if node.op_type == "Conv" and node.input[1].startswith("onnx::"):
            owner = _scope(node.name)
            weight, bias = (tensors[name] for name in node.input[1:])
            scale = weight.square().mean().sqrt() / WEIGHT_SCALE if rescale else torch.ones(())
            weights[f"{owner}.weight"] = weight / scale
            weights |= _make_affine_norm(network, _find_folded_norm(owner), scale, bias)
    missing, _ = network.load_state_dict(weights, strict=False)
    # The head in whose place the copy of ERes2Net is does not ship, nor what the mapper learns of shortfalls.
    assert all(name.endswith("num_batches_tracked") or name.startswith(NOT_SHIPPED) for name in missing), missing
    return network.eval()


def _read_weights(graph: onnx.GraphProto) -> dict[str, Tensor]:
    stored = {tensor.name: numpy_helper.to_array(tensor).astype(np.float32) for tensor in graph.initializer}
    stored |= {made: stored[name] * scale for name, (made, scale) in rounding.read_scales(graph).items()}
    return {name.removesuffix(".half"): torch.tensor(array) for name, array in stored.items()}


def fold_norms(network: nn.Module) -> None:
    """Norms that only add, as they are without `rescale`, become biases of the convolutions before them."""
    for name, convolution in list(network.named_modules()):
        if isinstance(convolution, nn.Conv1d | nn.Conv2d) and (norm := find_norm_after(name)):
            convolution.bias = nn.Parameter(network.get_submodule(norm).bias.detach().clone())
            owner, _, last = norm.rpartition(".")
            setattr(network.get_submodule(owner), last, nn.Identity())


def _scope(node: str) -> str:
    """The module that a node comes from: /a/blocks/blocks.0/first/Conv → a.blocks.0.first"""
    scopes = node.strip("/").split("/")[:-1]
    following = [*scopes[1:], ""]
    return ".".join(a for a, b in zip(scopes, following, strict=True) if not b.startswith(f"{a}."))


def _find_folded_norm(convolution: str) -> str:
    if norm := find_norm_after(convolution):
        return norm
    raise ValueError(f"{convolution} has an unknown norm folded into it")


def find_norm_after(convolution: str) -> str | None:
    """The norm that follows a convolution of the encoder; None if something else does."""
    for name, norm in FOLDED_NORMS.items():
        if f".{convolution}".endswith(f".{name}"):
            return convolution.removesuffix(name) + norm
    return None


def _make_affine_norm(network: nn.Module, norm: str, scale: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """Weights of a norm that only multiplies by `scale` and adds `bias`."""
    one, eps = torch.ones_like(bias), network.get_submodule(norm).eps
    values = {"weight": one, "bias": bias, "running_mean": 0 * one, "running_var": one / scale.square() - eps}
    return {f"{norm}.{name}": value for name, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="src/svc/data")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    network = restore(args.data)
    voice_encoder.save_encoder(network.encoder, args.folder / "encoder.pt")
    voice_encoder.save_mapper(network, args.folder / "mapper.pt")


if __name__ == "__main__":
    main()
