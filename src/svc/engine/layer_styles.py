"""A timbre for each norm of Kokoro's decoder, where the published graph gives all of them the same one.

A cloned voice is more like its speaker when each layer may stray a little from the voice's own timbre.
"""

from onnx import ModelProto, NodeProto, TensorProto, helper

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
