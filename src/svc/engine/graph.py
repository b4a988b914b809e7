"""Cutting a published ONNX graph at its seams."""

from onnx import ModelProto, TensorProto, ValueInfoProto, helper


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


def _unshaped(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
