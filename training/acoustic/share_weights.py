"""Replaces a graph's float weights by pointers to the int8 weights of the service's own graphs.

    python -m acoustic.share_weights build/turbo-batch-speech.onnx ../src/svc/data
    python -m acoustic.share_weights --from old/turbo-batch-speech.onnx ../src/svc/data/refinement.onnx ../src/svc/data

The graph is written into the folder. Its matrices become external data that lie in turbo-*.onnx, with the operators
that make floats of them, which ONNX Runtime computes once, when it loads the graph. The second command is for a graph
whose weights lie in another graph that gives its own up: what they share is followed to its new place.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from acoustic.export import GRAPHS, LEAST_WEIGHTS
from acoustic.export_batches import NAME
from acoustic.export_streams import PREFIX, write_hashes
from acoustic.rewrite import BLOCK

TOLERANCE = 1.01
"""In quantisation steps: a weight is rounded to the nearest, and the largest of a column lies at 127."""


@dataclass(frozen=True)
class Place:
    """A tensor's bytes in a file."""

    file: str
    offset: int
    tensor: TensorProto

    def point(self, name: str) -> TensorProto:
        pointer = TensorProto(name=name, dims=self.tensor.dims, data_type=self.tensor.data_type)
        pointer.data_location = TensorProto.EXTERNAL
        length = len(self.tensor.raw_data)
        for key, value in (("location", self.file), ("offset", self.offset), ("length", length)):
            pointer.external_data.add(key=key, value=str(value))
        return pointer


@dataclass(frozen=True)
class Quantised:
    """A matrix in int8: [rows, columns] with a step for each column, or [columns, blocks, 32] around 128 with a scale
    for each block."""

    stored: Place
    scales: Place
    rows: int

    @property
    def in_blocks(self) -> bool:
        return len(self.stored.tensor.dims) == 3

    def values(self) -> np.ndarray:
        stored, scales = (numpy_helper.to_array(each.tensor) for each in (self.stored, self.scales))
        if not self.in_blocks:
            return stored * scales
        blocks = (stored.astype(np.float32) - 128) * scales.reshape(*stored.shape[:2], 1)
        return blocks.reshape(len(stored), -1)[:, : self.rows].T

    def largest_step(self) -> float:
        return float(numpy_helper.to_array(self.scales.tensor).max())


def find_quantised(folder: Path) -> Iterator[Quantised]:
    for graph in GRAPHS:
        path = folder / f"{PREFIX}-{graph}.onnx"
        places = read_places(path)
        rows = {
            node.input[1]: next(each.i for each in node.attribute if each.name == "K")
            for node in onnx.load(path).graph.node
            if node.op_type == "MatMulNBits"
        }
        for name, place in places.items():
            stem, _, kind = name.rpartition(".")
            if kind == "int8":
                scales = places.get(f"{stem}.steps") or places[f"{stem}.scales"]
                yield Quantised(place, scales, rows.get(name, place.tensor.dims[0]))


def read_places(path: Path) -> dict[str, Place]:
    content, graph = path.read_bytes(), onnx.load(path, load_external_data=False).graph
    constants = {node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"}
    tensors = {tensor.name: tensor for tensor in graph.initializer} | constants
    return {
        name: Place(path.name, content.index(tensor.raw_data), tensor)
        for name, tensor in tensors.items()
        if tensor.raw_data
    }


class Sharing:
    """Which weights lie elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._quantised = [(each, each.values()) for each in find_quantised(folder)]

    def find(self, weight: np.ndarray) -> tuple[Quantised, bool] | None:
        """The same matrix in int8, and whether it is to be transposed."""
        if weight.ndim != 2 or weight.size < LEAST_WEIGHTS:
            return None
        for quantised, values in self._quantised:
            for transposed in (False, True):
                turned = values.T if transposed else values
                near = turned.shape == weight.shape and np.abs(turned[0] - weight[0]).max() < quantised.largest_step()
                if near and np.abs(turned - weight).max() < TOLERANCE * quantised.largest_step():
                    return quantised, transposed
        return None


def make_floats(name: str, quantised: Quantised, transposed: bool) -> tuple[list[TensorProto], list[onnx.NodeProto]]:
    """Pointers, and the nodes that make the float weight `name` of them."""
    tensors = [quantised.stored.point(f"{name}.int8"), quantised.scales.point(f"{name}.scales")]
    nodes: list[onnx.NodeProto] = []

    def add_constant(suffix: str, value: np.ndarray) -> str:
        tensors.append(numpy_helper.from_array(value, f"{name}.{suffix}"))
        return tensors[-1].name

    def add_node(kind: str, *inputs: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [f"{name}.{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    if quantised.in_blocks:
        columns, blocks, _ = quantised.stored.tensor.dims
        value = add_node("Cast", f"{name}.int8", to=TensorProto.FLOAT)
        value = add_node("Sub", value, add_constant("middle", np.float32(128)))
        scales = add_node("Reshape", f"{name}.scales", add_constant("blocks", np.array([columns, blocks, 1])))
        value = add_node("Mul", value, scales)
        value = add_node("Reshape", value, add_constant("flat", np.array([columns, blocks * BLOCK])))
        ends = [add_constant(key, np.array([at])) for key, at in (("start", 0), ("end", quantised.rows), ("axis", 1))]
        value = add_node("Slice", value, *ends)
        transposed = not transposed  # its columns come first
    else:
        value = add_node("DequantizeLinear", f"{name}.int8", f"{name}.scales", axis=1)
    if transposed:
        add_node("Transpose", value, perm=[1, 0])
    nodes[-1].output[0] = name
    return tensors, nodes


def share(model: onnx.ModelProto, sharing: Sharing, source: Path | None, target: Path) -> float:
    """Replaces what lies elsewhere, in place; returns how many million weights.

    `source` is the file that the graph's own pointers name and that has given up weights; `target` is it now.
    """
    old = read_places(source) if source else {}
    before = {(place.offset, len(place.tensor.raw_data)): name for name, place in old.items()}
    after = read_places(target) if source else {}
    graph, kept, nodes, shared = model.graph, [], [], 0
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    dropped: set[str] = set()
    for tensor in graph.initializer:
        original, followed = tensor, None
        if tensor.data_location == TensorProto.EXTERNAL:
            where = {each.key: each.value for each in tensor.external_data}
            if where["location"] != target.name:
                kept.append(tensor)
                continue
            followed = before[int(where["offset"]), int(where["length"])]
            original = old[followed].tensor
        found = sharing.find(numpy_helper.to_array(original)) if original.raw_data else None
        if found is None:
            kept.append(after[followed].point(tensor.name) if followed else tensor)
            continue
        shared += numpy_helper.to_array(original).size
        name = tensor.name
        if tensor.data_type == TensorProto.FLOAT16:  # a cast makes floats of it, which are made here
            (cast,) = readers[tensor.name]
            dropped.add(cast.output[0])
            name = cast.output[0]
        tensors, made = make_floats(name, *found)
        kept += tensors
        nodes += made
    nodes += [node for node in graph.node if node.output[0] not in dropped]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    return shared / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("folder", type=Path, help="src/svc/data")
    parser.add_argument("--from", dest="source", type=Path, help="the file as it was that the graph points into")
    args = parser.parse_args()
    model = onnx.load(args.graph, load_external_data=False)
    target = args.folder / (args.source or args.graph).name
    millions = share(model, Sharing(args.folder), args.source, target)
    path = args.folder / args.graph.name
    onnx.save(model, path)
    if path.name == f"{PREFIX}-{NAME}.onnx":
        write_hashes(args.folder, PREFIX, [*GRAPHS, NAME])
    print(f"{path.name}: {millions:.1f} million weights are shared, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
