"""Kokoro's int8 file in floating point, for CUDA, which has no kernels for its integer products:

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
from svc.engine.runtime import Runtime

_FLOAT_OPERATIONS = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}


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
    """The model with arithmetic that the device has."""
    serialized: bytes = (dequantize(model) if runtime.device == "cuda" else model).SerializeToString()
    return serialized


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
