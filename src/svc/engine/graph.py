"""Cutting a published ONNX graph at its seams, and putting other operations in the places of its own."""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

_FUSED = "com.microsoft"  # where ONNX Runtime keeps operations that are not in ONNX itself


def extract(model: ModelProto, inputs: list[str], outputs: list[str]) -> ModelProto:
    """The part of the graph that makes `outputs` from `inputs`, as a model of its own."""
    needed = set(outputs)
    nodes = []
    for node in reversed(model.graph.node):  # nodes stand in the order in which they run
        if not needed.isdisjoint(node.output) and set(inputs).isdisjoint(node.output):
            needed.update(node.input)
            nodes.append(node)
    published = {value.name: value for value in model.graph.input}
    part = helper.make_graph(
        nodes[::-1],
        "part",
        [published.get(name) or _unshaped(name) for name in inputs],
        [_unshaped(name) for name in outputs],
        [tensor for tensor in model.graph.initializer if tensor.name in needed],
    )
    return helper.make_model(part, opset_imports=model.opset_import, ir_version=model.ir_version)


class Patch:
    """Operations to put into the places of others."""

    def __init__(self) -> None:
        self._places: dict[str, list[NodeProto]] = defaultdict(list)
        self._constants: dict[str, TensorProto] = {}

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        self._constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def put(self, place: str, operation: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Adds an operation to those that stand in the place of the node of that name."""
        domain = _FUSED if operation == "MatMulIntegerToFloat" else None
        node = helper.make_node(operation, inputs, [output], f"{place}.{output}", domain=domain, **attributes)
        self._places[place].append(node)
        return output

    def applied(self, model: ModelProto) -> ModelProto:
        """The model with the patch, less what nothing needs any more."""
        if not self._places:
            return model
        graph = model.graph
        made = {name for nodes in self._places.values() for node in nodes for name in node.output}
        nodes = []
        for old in graph.node:
            if old.name in self._places:
                nodes += self._places[old.name]
            elif made.isdisjoint(old.output):
                nodes.append(old)
        domains = {opset.domain: opset.version for opset in model.opset_import} | {_FUSED: 1}
        whole = helper.make_model(
            helper.make_graph(
                nodes, graph.name, graph.input, graph.output, [*graph.initializer, *self._constants.values()]
            ),
            opset_imports=[helper.make_opsetid(domain, version) for domain, version in domains.items()],
            ir_version=model.ir_version,
        )
        part = extract(whole, [value.name for value in graph.input], [value.name for value in graph.output])
        part.metadata_props.extend(model.metadata_props)
        return part


def _unshaped(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
