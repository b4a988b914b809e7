"""Cuts the published ONNX graph of Kokoro."""

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper


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
