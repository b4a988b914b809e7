"""A quantized graph in floating point: for CUDA, which has no kernels for integers that are quantized on the way."""

import numpy as np
from onnx import ModelProto

from svc.engine.graph import Patch
from svc.engine.quantized import QuantizedGraph, attributes

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
