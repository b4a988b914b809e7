"""Rewrites exported graphs for ONNX Runtime on a CPU: the same results, up to rounding, in less time or memory."""

from itertools import count

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCK = 32
"""Weights of a column that share a scale."""


def split_norms(model: onnx.ModelProto) -> int:
    """Layer norms as a mean, a difference and a root-mean-square norm: half of the time; returns how many."""
    nodes = []
    for node in model.graph.node:
        if node.op_type != "LayerNormalization":
            nodes.append(node)
            continue
        x, scale, *offset = node.input
        name, result = node.output[0], node.output[0]
        epsilon = next((each.f for each in node.attribute if each.name == "epsilon"), 1e-5)
        nodes.append(helper.make_node("ReduceMean", [x, "norm.axis"], [f"{name}.mean"]))
        nodes.append(helper.make_node("Sub", [x, f"{name}.mean"], [f"{name}.centred"]))
        if offset:
            result = f"{name}.scaled"
        inputs = [f"{name}.centred", scale]
        nodes.append(helper.make_node("SimplifiedLayerNormalization", inputs, [result], axis=-1, epsilon=epsilon))
        if offset:
            nodes.append(helper.make_node("Add", [result, *offset], [name]))
    replaced = sum(node.op_type == "SimplifiedLayerNormalization" for node in nodes)
    if replaced:
        model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "norm.axis"))
    _replace_nodes(model, nodes)
    return replaced


def shrink_weights(model: onnx.ModelProto, least: int) -> int:
    """Stores matrices of at least so many weights in int8, with a scale for each block of a column; returns how many.

    Inputs are quantised in the same blocks, so it is more precise than a scale for each row, and slower for many rows.
    """
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes, replaced, numbers = [], set(), count()
    for node in model.graph.node:
        weight = constants.get(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        if weight is None or np.prod(weight.dims) < least:
            nodes.append(node)
            continue
        matrix = numpy_helper.to_array(weight).astype(np.float32)
        if any(each.name == "transB" and each.i for each in node.attribute):
            matrix = matrix.T
        replaced.add(weight.name)
        name = f"small{next(numbers)}"
        rows, columns = matrix.shape
        padded = np.pad(matrix, ((0, -rows % BLOCK), (0, 0))).T.reshape(columns, -1, BLOCK)
        scales = np.abs(padded).max(axis=2, keepdims=True).clip(1e-8) / 127
        stored = (np.round(padded / scales) + 128).astype(np.uint8)
        for suffix, value in (("int8", stored), ("scales", scales[..., 0].astype(np.float32).reshape(-1))):
            model.graph.initializer.append(numpy_helper.from_array(value, f"{name}.{suffix}"))
        bias = list(node.input[2:])
        product = f"{name}.product" if bias else node.output[0]
        inputs = [node.input[0], f"{name}.int8", f"{name}.scales"]
        sizes = {"K": rows, "N": columns, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        nodes.append(helper.make_node("MatMulNBits", inputs, [product], domain="com.microsoft", **sizes))
        if bias:
            nodes.append(helper.make_node("Add", [product, *bias], [node.output[0]]))
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in replaced]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    _replace_nodes(model, nodes)
    if all(each.domain != "com.microsoft" for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return len(replaced)


def _replace_nodes(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> None:
    del model.graph.node[:]
    model.graph.node.extend(nodes)
