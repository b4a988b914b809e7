"""Integer arithmetic as CPUs are fastest at it: products of matrices whose weights are packed when they are loaded."""

import numpy as np
from onnx import ModelProto, numpy_helper

from svc.engine.graph import Patch
from svc.engine.quantized import Product, QuantizedGraph, attributes

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
