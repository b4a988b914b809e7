"""Reads the graph that the service runs on a GPU back into the weights that training continues from.

    python -m acoustic.restore ../src/svc/data/turbo-batch-speech.onnx run

writes run/{prosody,decoder,head}.pt, as precise as the shipped weights are: large matrices in int8, the rest in fp16.
The exporter renames and transposes weights, so networks of random weights are exported, too: where each of their values
comes to lie, the trained one lies.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn

from acoustic import export_batches, model

NAMES = ("prosody", "decoder", "head")
MARKS = 4
"""So many values of a random tensor tell it from all others."""
MAKERS = ("Cast", "DequantizeLinear", "Identity", "Mul", "Reshape", "Slice", "Sub", "Transpose")
"""Operators that compute weights from the stored ones."""
NOT_EXPORTED = ("feature_mean", "feature_scale")
"""Buffers of the older head, which this one does not use."""


@torch.no_grad()
def restore(path: Path) -> dict[str, nn.Module]:
    networks: dict[str, nn.Module] = {"prosody": model.Prosody(), "decoder": model.Decoder(), "head": model.Head()}
    for network in networks.values():
        randomise(network)
    with tempfile.TemporaryDirectory() as folder:
        for name, network in networks.items():
            model.save(name, network, Path(folder))
        random = read_tensors(export_batches.export(Path(folder), Path(folder)))
    trained = read_tensors(path)
    assert [array.shape for array in random] == [array.shape for array in trained], "another version of the networks"
    places = {fingerprint(array): place for place, array in enumerate(random)}
    for network in networks.values():
        weights = network.state_dict()
        found = {name: find(name, weights[name], places, trained) for name in random_names(network)}
        network.load_state_dict(weights | found)
    return networks


def random_names(network: nn.Module) -> list[str]:
    """All but the scales of the blocks, with which the exporter multiplies their weights."""
    return [n for n in network.state_dict() if n not in NOT_EXPORTED and not ("blocks" in n and n.endswith("scale"))]


def randomise(network: nn.Module) -> None:
    weights = network.state_dict()
    for name, value in weights.items():
        if "blocks" in name and name.endswith("scale"):
            value.fill_(1.0)
    for name in random_names(network):
        weights[name].normal_()


def read_tensors(path: Path) -> list[np.ndarray]:
    """The weights in the order in which the nodes use them: the exporter stores two that are equal only once."""
    graph = onnx.load(path).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    arrays = []
    for node in graph.node:
        if node.op_type in ("Constant", *MAKERS) and all(name in tensors for name in node.input):
            given = {name: tensors[name] for name in node.input}
            (tensors[node.output[0]],) = ReferenceEvaluator(node).run(None, given)
        else:
            arrays += [tensors[name] for name in node.input if name in tensors]
    return [array.astype(np.float32) for array in arrays if array.dtype in (np.float32, np.float16)]


def fingerprint(array: np.ndarray) -> tuple[float, ...]:
    return tuple(array.astype(np.float16).ravel()[:MARKS].tolist())


def find(name: str, value: Tensor, places: dict[tuple[float, ...], int], trained: list[np.ndarray]) -> Tensor:
    array = value.numpy()
    if array.ndim == 3:
        # A depthwise convolution has a tensor for each tap.
        taps = [find(name, tap, places, trained) for tap in value[:, 0].T]
        return torch.stack(taps, dim=1)[:, None]
    for turned in (array, array.T):
        place = places.get(fingerprint(turned))
        if place is not None and trained[place].size == array.size:
            found = trained[place].reshape(turned.shape)
            return torch.tensor(found if turned is array else found.T)
    raise ValueError(f"{name} is nowhere in the graph")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("run", type=Path)
    args = parser.parse_args()
    args.run.mkdir(parents=True, exist_ok=True)
    for name, network in restore(args.graph).items():
        model.save(name, network, args.run)


if __name__ == "__main__":
    main()
