"""Weights rounded to int8, with a scale for each row: a quarter of their size.

They are stored with a Cast and a Mul. ONNX Runtime computes both when it loads a graph; a DequantizeLinear it would
repeat in every run.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper


def round_rows(values: np.ndarray, axis: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rounded values, and scales of the same number of dimensions to multiply them with."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    scale = (np.maximum(np.abs(values).max(axis=others, keepdims=True), 1e-12) / 127).astype(np.float32)
    return np.round(values / scale).astype(np.int8), scale


def store(values: np.ndarray, name: str, axis: int = 0) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """Tensors, and nodes that make a value of this name of them."""
    stored, scale = f"{name}.int8", f"{name}.scale"
    arrays = zip(round_rows(values, axis), (stored, scale), strict=True)
    nodes = [
        helper.make_node("Cast", [stored], [f"{stored}.float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [f"{stored}.float", scale], [name]),
    ]
    return [numpy_helper.from_array(array, to) for array, to in arrays], nodes


def read_scales(graph: onnx.GraphProto) -> dict[str, tuple[str, np.ndarray]]:
    """What is made of each rounded tensor that is stored with a graph, and its scales."""
    external = onnx.TensorProto.EXTERNAL
    tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.data_location != external}
    rounded = {name for name, tensor in tensors.items() if tensor.data_type == onnx.TensorProto.INT8}
    casts = {
        node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast" and node.input[0] in rounded
    }
    found = {}
    for node in graph.node:
        if node.op_type == "Mul" and node.input[0] in casts and node.input[1] in tensors:
            scale = numpy_helper.to_array(tensors[node.input[1]])
            found[casts[node.input[0]]] = node.output[0], scale
    return found
