"""Cutting and patching published ONNX graphs."""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

_ORT_DOMAIN = "com.microsoft"  # operators of ONNX Runtime that are not part of ONNX


def extract_subgraph(model: ModelProto, inputs: list[str], outputs: list[str]) -> ModelProto:
    """The part of the graph that computes `outputs` from `inputs`, as a model of its own."""
    needed = set(outputs)
    nodes = []
    for node in reversed(model.graph.node):  # nodes are in topological order
        if not needed.isdisjoint(node.output) and set(inputs).isdisjoint(node.output):
            needed.update(node.input)
            nodes.append(node)
    model_inputs = {value.name: value for value in model.graph.input}
    subgraph = helper.make_graph(
        nodes[::-1],
        "part",
        [model_inputs.get(name) or _declare_tensor(name) for name in inputs],
        [_declare_tensor(name) for name in outputs],
        [tensor for tensor in model.graph.initializer if tensor.name in needed],
    )
    return helper.make_model(subgraph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _declare_tensor(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


class Patch:
    """Nodes that replace nodes of a graph, and the constants that they need."""

    def __init__(self) -> None:
        self._replacements: dict[str, list[NodeProto]] = defaultdict(list)
        self._constants: dict[str, TensorProto] = {}

    def add_constant(self, name: str, value: npt.ArrayLike) -> str:
        self._constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def add_node(self, replaced: str, operation: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Adds a node to those that replace the node of the name `replaced`; returns `output`."""
        domain = _ORT_DOMAIN if operation == "MatMulIntegerToFloat" else None
        node = helper.make_node(operation, inputs, [output], f"{replaced}.{output}", domain=domain, **attributes)
        self._replacements[replaced].append(node)
        return output

    def apply(self, model: ModelProto) -> ModelProto:
        """The patched model, without the nodes and constants that nothing needs any more."""
        if not self._replacements:
            return model
        graph = model.graph
        replaced_outputs = {name for nodes in self._replacements.values() for node in nodes for name in node.output}
        nodes = []
        for node in graph.node:
            if node.name in self._replacements:
                nodes += self._replacements[node.name]
            elif replaced_outputs.isdisjoint(node.output):
                nodes.append(node)
        domains = {opset.domain: opset.version for opset in model.opset_import} | {_ORT_DOMAIN: 1}
        patched = helper.make_model(
            helper.make_graph(
                nodes, graph.name, graph.input, graph.output, [*graph.initializer, *self._constants.values()]
            ),
            opset_imports=[helper.make_opsetid(domain, version) for domain, version in domains.items()],
            ir_version=model.ir_version,
        )
        pruned = extract_subgraph(
            patched, [value.name for value in graph.input], [value.name for value in graph.output]
        )
        pruned.metadata_props.extend(model.metadata_props)
        return pruned


_DECODER_BLOCKS = ("encode", "decode.0", "decode.1", "decode.2", "decode.3")
_DECODER_NORMS = [f"/decoder/decoder/{block}/norm{number}/fc/" for block in _DECODER_BLOCKS for number in (1, 2)]

LAYER_TIMBRES = [f"timbre.{index}" for index in range(len(_DECODER_NORMS))]
"""The inputs that `split_timbre_input` makes, in the order in which the norms run."""


def split_timbre_input(decoder: ModelProto, timbre: str) -> ModelProto:
    """Kokoro's decoder with a timbre input for each of its norms, instead of the one input `timbre`.

    A cloned voice is more like its speaker when each layer may differ a little from the voice's overall timbre.
    """
    graph = decoder.graph
    nodes: list[NodeProto] = []
    for node in graph.node:
        if list(node.input) == [timbre]:  # int8: quantizes the timbre, so each norm needs a copy of it
            nodes = [_rename_tensors(node, timbre, layer_timbre) for layer_timbre in LAYER_TIMBRES] + nodes
        else:
            index = next((index for index, norm in enumerate(_DECODER_NORMS) if node.name.startswith(norm)), None)
            nodes.append(node if index is None else _rename_tensors(node, timbre, LAYER_TIMBRES[index]))
    inputs = [value for value in graph.input if value.name != timbre]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 128]) for name in LAYER_TIMBRES]
    split = helper.make_graph(nodes, graph.name, inputs, graph.output, graph.initializer)
    return helper.make_model(split, opset_imports=decoder.opset_import, ir_version=decoder.ir_version)


def _rename_tensors(node: NodeProto, old: str, new: str) -> NodeProto:
    """A copy of the node in which names that begin with `old` begin with `new`."""
    renamed = NodeProto()
    renamed.CopyFrom(node)
    for names in (renamed.input, renamed.output):
        for position, name in enumerate(names):
            if name.startswith(old):
                names[position] = new + name.removeprefix(old)
    if renamed.name.startswith(old):
        renamed.name = new + renamed.name.removeprefix(old)
    return renamed
