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


_BLOCKS = ("encode", "decode.0", "decode.1", "decode.2", "decode.3")
_NORMS = [f"/decoder/decoder/{block}/norm{number}/fc/" for block in _BLOCKS for number in (1, 2)]

TIMBRES = [f"timbre.{place}" for place in range(len(_NORMS))]
"""The inputs that stand in the place of the one, in the order in which the norms run."""


def split_style_inputs(decoder: ModelProto, shared: str) -> ModelProto:
    """The decoder with an input for each norm instead of the `shared` one."""
    graph = decoder.graph
    nodes: list[NodeProto] = []
    for node in graph.node:
        if list(node.input) == [shared]:  # int8: its quantisation, of which each norm needs its own
            nodes = [_renamed(node, shared, timbre) for timbre in TIMBRES] + nodes
        else:
            place = next((place for place, norm in enumerate(_NORMS) if node.name.startswith(norm)), None)
            nodes.append(node if place is None else _renamed(node, shared, TIMBRES[place]))
    inputs = [each for each in graph.input if each.name != shared]
    inputs += [helper.make_tensor_value_info(timbre, TensorProto.FLOAT, [1, 128]) for timbre in TIMBRES]
    whole = helper.make_graph(nodes, graph.name, inputs, graph.output, graph.initializer)
    return helper.make_model(whole, opset_imports=decoder.opset_import, ir_version=decoder.ir_version)


def _renamed(node: NodeProto, shared: str, timbre: str) -> NodeProto:
    """The node with `shared`, and what is made of it alone, under another name."""
    renamed = NodeProto()
    renamed.CopyFrom(node)
    for names in (renamed.input, renamed.output):
        for position, name in enumerate(names):
            if name.startswith(shared):
                names[position] = timbre + name.removeprefix(shared)
    if renamed.name.startswith(shared):
        renamed.name = timbre + renamed.name.removeprefix(shared)
    return renamed
