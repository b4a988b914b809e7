"""The integer products of a quantized ONNX graph.

Kokoro's int8 file quantizes activations while it runs, and multiplies integers:

    x ─▶ DynamicQuantizeLinear ─▶ ConvInteger or MatMulInteger ─▶ (+ bias) ─▶ Cast ─▶ × scales ─▶ result
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from onnx import ModelProto, NodeProto, helper, numpy_helper

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
