"""Int8 arithmetic, rewritten for the device that it runs on.

Kokoro's int8 file quantizes activations at run time and multiplies integers:

    x ─▶ DynamicQuantizeLinear ─▶ ConvInteger or MatMulInteger ─▶ (+ bias) ─▶ Cast ─▶ × scales ─▶ result

CPUs are fastest at matrix products whose weights are packed once, at loading. CUDA has no such integer kernels.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, helper, numpy_helper

from svc.engine.graph import Patch
from svc.engine.runtime import Runtime

_FLOAT_OPERATIONS = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
_HALF_SUFFIX = ".half"  # weights that the training stores in half precision, cast to single in the graph


@dataclass(frozen=True, slots=True)
class IntegerProduct:
    """An integer convolution or matrix product with its scaling, by the names of the tensors."""

    node: NodeProto
    x: str
    x_scale: str
    weight_scale: str
    bias: list[str]
    """One name, or none."""
    result: str


class QuantizedGraph:
    """Finds the integer products of a graph."""

    def __init__(self, model: ModelProto) -> None:
        self.nodes = model.graph.node
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._producer = {name: node for node in model.graph.node for name in node.output}
        self._consumers = defaultdict(list)
        for node in model.graph.node:
            for name in node.input:
                self._consumers[name].append(node)

    def products(self) -> Iterator[IntegerProduct]:
        for node in self.nodes:
            if node.op_type in _FLOAT_OPERATIONS:
                scaling = self._find_scaling(node)
                scales = self._producer[scaling.input[1]].input
                (weight_scale,) = (name for name in scales if name in self._constants)
                (x_scale,) = (name for name in scales if name != weight_scale)
                x = self._producer[node.input[0]].input[0]
                yield IntegerProduct(node, x, x_scale, weight_scale, self._find_bias(node), scaling.output[0])

    def constant(self, name: str) -> npt.NDArray[Any]:
        return numpy_helper.to_array(self._constants[name])

    def _find_scaling(self, node: NodeProto) -> NodeProto:
        """The multiplication after which the result is in floating point again."""
        while node.op_type != "Mul":
            (node,) = self._consumers[node.output[0]]
        return node

    def _find_bias(self, node: NodeProto) -> list[str]:
        """The bias of a convolution, which the graph divides by the scales and rounds before it adds it."""
        (add,) = self._consumers[node.output[0]]
        if add.op_type != "Add":
            return []
        source = self._producer[add.input[1]]
        while source.op_type != "Div":
            source = self._producer[source.input[0]]
        return [source.input[0]]


def serialize_for(runtime: Runtime, model: ModelProto) -> bytes:
    """The model with arithmetic that is fast on the device."""
    if runtime.device == "cuda":
        model = dequantize(model)
    elif runtime.has_fast_int8:
        model = replace_convolutions(model)
    serialized: bytes = model.SerializeToString()
    return serialized


def replace_convolutions(model: ModelProto) -> ModelProto:
    """The model with its integer convolutions as integer matrix products, over the input shifted by each tap.

    ONNX Runtime packs the weights of a convolution at every run, those of a product once.
    """
    graph = QuantizedGraph(model)
    patch = Patch()
    patch.add_constant("time", [1])
    for product in graph.products():
        attributes = _read_attributes(product.node)
        if product.node.op_type == "ConvInteger" and (
            attributes["strides"] == attributes["dilations"] == [attributes["group"]] == [1]
        ):
            _replace_convolution(patch, graph, product, attributes["pads"])
    return patch.apply(model)


def _replace_convolution(patch: Patch, graph: QuantizedGraph, product: IntegerProduct, pads: list[int]) -> None:
    name = product.node.name
    quantized, weight, x_zero, weight_zero = product.node.input
    out_channels, in_channels, taps = graph.constant(weight).shape
    rows = patch.add_node(name, "Transpose", [quantized], f"{name}.rows", perm=[0, 2, 1])
    padding = patch.add_constant(f"{name}.pads", [0, pads[0], 0, 0, pads[1], 0])
    padded = patch.add_node(name, "Pad", [rows, padding, x_zero], f"{name}.padded")
    shifted = []
    for tap in range(taps):
        start = patch.add_constant(f"{name}.{tap}.start", [tap])
        end = patch.add_constant(f"{name}.{tap}.end", [tap - taps + 1 or np.iinfo(np.int64).max])
        shifted.append(patch.add_node(name, "Slice", [padded, start, end, "time"], f"{name}.{tap}"))
    concatenated = patch.add_node(name, "Concat", shifted, f"{name}.taps", axis=2)
    matrix = _to_signed(graph, weight).transpose(2, 1, 0).reshape(taps * in_channels, out_channels)
    inputs = [
        concatenated,
        patch.add_constant(f"{name}.matrix", matrix),
        product.x_scale,
        product.weight_scale,
        x_zero,
        patch.add_constant(f"{name}.zero", _to_signed(graph, weight_zero)),
        *product.bias,
    ]
    result = patch.add_node(name, "MatMulIntegerToFloat", inputs, f"{name}.product")
    patch.add_node(name, "Transpose", [result], product.result, perm=[0, 2, 1])


def _to_signed(graph: QuantizedGraph, name: str) -> npt.NDArray[np.int8]:
    """uint8 weights, or their zero point, as int8: the fastest kernels take signed weights."""
    return (graph.constant(name).astype(np.int16) - 128).astype(np.int8)


def quantize_matmuls(model: ModelProto, prefix: str) -> ModelProto:
    """The model with its products by weights whose names begin with `prefix` in int8.

    Each row of the input has a scale of its own, so that a frame's result does not depend on the other frames.
    """
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    patch = Patch()
    scale, zero = patch.add_constant("row.scale", np.float32(1 / 127)), patch.add_constant("row.zero", np.uint8(128))
    axis, least = patch.add_constant("row.axis", [-1]), patch.add_constant("row.least", np.float32(1e-6))
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1].startswith(prefix) and node.input[1] + _HALF_SUFFIX in constants:
            x, name = node.input
            weight = numpy_helper.to_array(constants[name + _HALF_SUFFIX]).astype(np.float32)
            steps = np.abs(weight).max(axis=0).clip(1e-8) / 127
            magnitude = patch.add_node(node.name, "Abs", [x], f"{name}.size")
            largest = patch.add_node(node.name, "ReduceMax", [magnitude, axis], f"{name}.largest")
            largest = patch.add_node(node.name, "Max", [largest, least], f"{name}.range")
            unit = patch.add_node(node.name, "Div", [x, largest], f"{name}.unit")
            inputs = [
                patch.add_node(node.name, "QuantizeLinear", [unit, scale, zero], f"{name}.quantized"),
                patch.add_constant(f"{name}.int8", np.round(weight / steps).astype(np.int8)),
                scale,
                patch.add_constant(f"{name}.steps", steps),
                zero,
            ]
            product = patch.add_node(node.name, "MatMulIntegerToFloat", inputs, f"{name}.product")
            patch.add_node(node.name, "Mul", [product, largest], node.output[0])
    return patch.apply(model)


def dequantize(model: ModelProto) -> ModelProto:
    """The model in floating point, as precise as its int8 weights are."""
    graph = QuantizedGraph(model)
    patch = Patch()

    def add_weight(name: str, zero: str, scale: str, lstm: bool = False) -> str:
        axes = (..., None, None) if lstm else ...  # an LSTM's weights have a zero and a scale for each direction
        difference = graph.constant(name).astype(np.float32) - graph.constant(zero)[axes].astype(np.float32)
        weight = difference * graph.constant(scale)[axes]
        return patch.add_constant(f"{name}.float", np.ascontiguousarray(weight.swapaxes(1, 2)) if lstm else weight)

    for product in graph.products():
        node = product.node
        inputs = [product.x, add_weight(node.input[1], node.input[3], product.weight_scale), *product.bias]
        patch.add_node(node.name, _FLOAT_OPERATIONS[node.op_type], inputs, product.result, **_read_attributes(node))
    for node in graph.nodes:
        if node.op_type == "DynamicQuantizeLSTM":
            x, w, r, *rest = node.input[:8]
            w_scale, w_zero, r_scale, r_zero = node.input[8:12]
            inputs = [x, add_weight(w, w_zero, w_scale, lstm=True), add_weight(r, r_zero, r_scale, lstm=True), *rest]
            patch.add_node(node.name, "LSTM", inputs, node.output[0], **_read_attributes(node))
    return patch.apply(model)


def _read_attributes(node: NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
