"""The integer products of a quantized ONNX graph.

Kokoro's int8 file quantizes activations while it runs, and multiplies integers:

    x ─▶ DynamicQuantizeLinear ─▶ ConvInteger or MatMulInteger ─▶ (+ bias) ─▶ Cast ─▶ × scales ─▶ result
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, helper, numpy_helper

from svc.engine.graph import Patch

_PRODUCTS = ("ConvInteger", "MatMulInteger")


@dataclass(frozen=True, slots=True)
class Product:
    """One integer product and what is around it, by the names of the tensors."""

    node: NodeProto
    x: str
    x_scale: str
    weight_scale: str
    bias: list[str]
    """One name, or none."""
    result: str


class QuantizedGraph:
    def __init__(self, model: ModelProto) -> None:
        self.nodes = model.graph.node
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._maker = {name: node for node in model.graph.node for name in node.output}
        self._users = defaultdict(list)
        for node in model.graph.node:
            for name in node.input:
                self._users[name].append(node)

    def products(self) -> Iterator[Product]:
        for node in self.nodes:
            if node.op_type in _PRODUCTS:
                scaling = self._scaling(node)
                scales = self._maker[scaling.input[1]].input
                (weight_scale,) = (name for name in scales if name in self._constants)
                (x_scale,) = (name for name in scales if name != weight_scale)
                x = self._maker[node.input[0]].input[0]
                yield Product(node, x, x_scale, weight_scale, self._bias(node), scaling.output[0])

    def constant(self, name: str) -> npt.NDArray[Any]:
        return numpy_helper.to_array(self._constants[name])

    def _scaling(self, node: NodeProto) -> NodeProto:
        """The multiplication whose result is in plain numbers again."""
        while node.op_type != "Mul":
            (node,) = self._users[node.output[0]]
        return node

    def _bias(self, node: NodeProto) -> list[str]:
        """The bias of a convolution, which is divided by the scales and rounded before it is added."""
        (add,) = self._users[node.output[0]]
        if add.op_type != "Add":
            return []
        source = self._maker[add.input[1]]
        while source.op_type != "Div":
            source = self._maker[source.input[0]]
        return [source.input[0]]


def attributes(node: NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


_HALF = ".half"  # weights that the training stores in half precision, to be cast when they are loaded


def convolutions_as_products(model: ModelProto) -> ModelProto:
    """The same graph, its integer convolutions as products of the input, once for each tap, with all taps together.

    ONNX Runtime packs the weights of a convolution anew each time that it runs.
    """
    graph = QuantizedGraph(model)
    patch = Patch()
    patch.constant("time", [1])
    for product in graph.products():
        how = attributes(product.node)
        if product.node.op_type == "ConvInteger" and how["strides"] == how["dilations"] == [how["group"]] == [1]:
            _convolve(patch, graph, product, how["pads"])
    return patch.applied(model)


def _convolve(patch: Patch, graph: QuantizedGraph, product: Product, pads: list[int]) -> None:
    name = product.node.name
    quantized, weight, x_zero, weight_zero = product.node.input
    outs, channels, taps = graph.constant(weight).shape
    rows = patch.put(name, "Transpose", [quantized], f"{name}.rows", perm=[0, 2, 1])
    around = patch.constant(f"{name}.pads", [0, pads[0], 0, 0, pads[1], 0])
    padded = patch.put(name, "Pad", [rows, around, x_zero], f"{name}.padded")
    shifted = []
    for tap in range(taps):
        start = patch.constant(f"{name}.{tap}.start", [tap])
        end = patch.constant(f"{name}.{tap}.end", [tap - taps + 1 or np.iinfo(np.int64).max])
        shifted.append(patch.put(name, "Slice", [padded, start, end, "time"], f"{name}.{tap}"))
    together = patch.put(name, "Concat", shifted, f"{name}.taps", axis=2)
    matrix = _signed(graph, weight).transpose(2, 1, 0).reshape(taps * channels, outs)
    inputs = [
        together,
        patch.constant(f"{name}.matrix", matrix),
        product.x_scale,
        product.weight_scale,
        x_zero,
        patch.constant(f"{name}.zero", _signed(graph, weight_zero)),
        *product.bias,
    ]
    result = patch.put(name, "MatMulIntegerToFloat", inputs, f"{name}.product")
    patch.put(name, "Transpose", [result], product.result, perm=[0, 2, 1])


def _signed(graph: QuantizedGraph, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    """Unsigned numbers with their zero moved: what the fastest kernels take."""
    return (graph.constant(name).astype(np.int16) - 128).astype(np.int8)


def products_by_rows(model: ModelProto, weights: str) -> ModelProto:
    """The same graph, products with the weights whose names begin so in integers; each row of the input has a scale
    of its own, so that a frame's result does not depend on the frames beside it."""
    halves = {tensor.name: tensor for tensor in model.graph.initializer}
    patch = Patch()
    scale, zero = patch.constant("row.scale", np.float32(1 / 127)), patch.constant("row.zero", np.uint8(128))
    axis, least = patch.constant("row.axis", [-1]), patch.constant("row.least", np.float32(1e-6))
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1].startswith(weights) and node.input[1] + _HALF in halves:
            x, name = node.input
            weight = numpy_helper.to_array(halves[name + _HALF]).astype(np.float32)
            steps = np.abs(weight).max(axis=0).clip(1e-8) / 127
            size = patch.put(node.name, "Abs", [x], f"{name}.size")
            largest = patch.put(node.name, "ReduceMax", [size, axis], f"{name}.largest")
            largest = patch.put(node.name, "Max", [largest, least], f"{name}.range")
            unit = patch.put(node.name, "Div", [x, largest], f"{name}.unit")
            inputs = [
                patch.put(node.name, "QuantizeLinear", [unit, scale, zero], f"{name}.quantized"),
                patch.constant(f"{name}.int8", np.round(weight / steps).astype(np.int8)),
                scale,
                patch.constant(f"{name}.steps", steps),
                zero,
            ]
            product = patch.put(node.name, "MatMulIntegerToFloat", inputs, f"{name}.product")
            patch.put(node.name, "Mul", [product, largest], node.output[0])
    return patch.applied(model)


_PLAIN = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}


def dequantize(model: ModelProto) -> ModelProto:
    """The same graph without integer arithmetic, as precise as its weights are."""
    graph = QuantizedGraph(model)
    patch = Patch()

    def weight(name: str, zero: str, scale: str, lstm: bool = False) -> str:
        axes = (..., None, None) if lstm else ...  # an LSTM's has a zero and a scale for each direction
        difference = graph.constant(name).astype(np.float32) - graph.constant(zero)[axes].astype(np.float32)
        floats = difference * graph.constant(scale)[axes]
        return patch.constant(f"{name}.float", np.ascontiguousarray(floats.swapaxes(1, 2)) if lstm else floats)

    for product in graph.products():
        node = product.node
        inputs = [product.x, weight(node.input[1], node.input[3], product.weight_scale), *product.bias]
        patch.put(node.name, _PLAIN[node.op_type], inputs, product.result, **attributes(node))
    for node in graph.nodes:
        if node.op_type == "DynamicQuantizeLSTM":
            x, w, r, *rest = node.input[:8]
            w_scale, w_zero, r_scale, r_zero = node.input[8:12]
            inputs = [x, weight(w, w_zero, w_scale, lstm=True), weight(r, r_zero, r_scale, lstm=True), *rest]
            patch.put(node.name, "LSTM", inputs, node.output[0], **attributes(node))
    return patch.applied(model)
