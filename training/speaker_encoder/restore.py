"""Takes an exported encoder apart again, into the two files that training goes on from.

    python -m cloning.restore ../src/svc/data/voice-encoder.onnx ../src/svc/data/accents.npz FOLDER

writes FOLDER/ear.pt and FOLDER/mapper.pt.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from cloning import encoder as encoders
from cloning.axes import Axes, rule
from cloning.ear import Ear
from cloning.encoder import Encoder
from cloning.export import LANGUAGES
from cloning.mapper import ACCENTED, WIDTH, Mapper

NORM_OF = {
    "stem": "stem_norm",
    "last": "last_norm",
    "entry": "entry_norm",
    "first": "first_norm",
    "second": "second_norm",
    "narrow": "inner_norm",
    "skip.0": "skip.1",
    "groups.2.halve": "out_norm",
}
"""The norms of the ear that the exporter works into the convolutions before them."""
USUAL = 0.1
"""How large weights are. Some become a hundred times smaller with a norm worked in: a step of learning would be too
large for them."""


def restore(path: Path, accents: Path) -> Encoder:
    """The torch encoder of exported files."""
    graph = onnx.load(path).graph
    tensors = {tensor.name.removesuffix(".half"): numpy_helper.to_array(tensor) for tensor in graph.initializer}
    stored = {name: torch.tensor(array.astype(np.float32)) for name, array in tensors.items()}
    weights = {name.removeprefix("encoder."): value for name, value in stored.items()}
    encoder = Encoder(Ear(), Mapper(len(weights["mapper.entry.bias"]) // WIDTH), Axes())
    for node in graph.node:
        if node.op_type == "Conv" and node.input[1].startswith("onnx::"):
            owner = _owner(node.name).removeprefix("encoder.")
            weight, bias = (stored[name] for name in node.input[1:])
            scale = weight.square().mean().sqrt() / USUAL
            weights[f"{owner}.weight"] = weight / scale
            weights |= _only_scales_and_adds(encoder, _norm_after(owner), scale, bias)
    stored_accents = np.load(accents)
    offsets, shares = (
        torch.tensor(np.stack([stored_accents[f"{LANGUAGES[letter]} {part}"] for letter in ACCENTED])).float()
        for part in ("offset", "shares")
    )
    rules = torch.stack([rule(letter, offsets.device).shares for letter in ACCENTED])
    weights |= {"mapper.accents": offsets, "mapper.shares": shares - rules}
    missing, _ = encoder.load_state_dict(weights, strict=False)
    assert all(name.endswith("num_batches_tracked") for name in missing), missing
    return encoder.eval()


def _owner(node: str) -> str:
    """The module that a node comes from: /body/blocks/blocks.0/first/Conv → body.blocks.0.first"""
    scopes = node.strip("/").split("/")[:-1]
    following = [*scopes[1:], ""]
    return ".".join(a for a, b in zip(scopes, following, strict=True) if not b.startswith(f"{a}."))


def _norm_after(convolution: str) -> str:
    for name, norm in NORM_OF.items():
        if convolution.endswith(f".{name}"):
            return convolution.removesuffix(name) + norm
    raise ValueError(f"{convolution} has a norm worked in that is not known")


def _only_scales_and_adds(encoder: nn.Module, norm: str, scale: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """Weights of a norm that does nothing else."""
    one, eps = torch.ones_like(bias), encoder.get_submodule(norm).eps
    values = {"weight": one, "bias": bias, "running_mean": 0 * one, "running_var": one / scale.square() - eps}
    return {f"{norm}.{name}": value for name, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("accents", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    encoder = restore(args.onnx, args.accents)
    encoders.save_ear(encoder.ear, args.folder / "ear.pt")
    encoders.save_mapper(encoder, args.folder / "mapper.pt")


if __name__ == "__main__":
    main()
