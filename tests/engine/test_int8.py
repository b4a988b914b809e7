"""Int8 arithmetic rewritten for the device: the results are the same up to rounding."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from svc.engine import acoustic_model, weights
from svc.engine.graph import extract_subgraph
from svc.engine.int8 import dequantize, quantize_matmuls, replace_convolutions
from svc.engine.protocol import Array
from svc.engine.runtime import Runtime

pytestmark = pytest.mark.real

INPUTS = [acoustic_model.TEXT, acoustic_model.PITCH, acoustic_model.ENERGY, acoustic_model.TIMBRE]

needs_fast_int8 = pytest.mark.skipif(
    not Runtime(threads=1).has_fast_int8, reason="this processor saturates sums of int8 products"
)


@pytest.fixture(scope="module")
def decoder() -> onnx.ModelProto:
    """The part of Kokoro's int8 file with the most convolutions."""
    model = onnx.load_model_from_string(weights.load(None, "", Path()))
    return extract_subgraph(model, INPUTS, [acoustic_model.FEATURES])


@pytest.fixture(scope="module")
def feed() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    pitch = 150 + 50 * np.sin(np.arange(40, dtype=np.float32) / 5)[None]
    shapes = {
        acoustic_model.TEXT: (1, 512, 20),
        acoustic_model.ENERGY: (1, 40),
        acoustic_model.TIMBRE: (1, 128),
    }
    random = {name: 0.3 * rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    return {**random, acoustic_model.PITCH: pitch}


def run(model: onnx.ModelProto, feed: dict[str, Array]) -> Array:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: Array = session.run(None, feed)[0]
    return result


def count_operations(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def relative_difference(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(one))


@needs_fast_int8
def test_replaced_convolutions_compute_the_same_features(decoder: onnx.ModelProto, feed: dict[str, Array]) -> None:
    replaced = replace_convolutions(decoder)
    left = count_operations(decoder)["ConvInteger"] - count_operations(replaced)["MatMulIntegerToFloat"]
    assert count_operations(replaced)["ConvInteger"] == left == 2, "all but the two with a stride"
    assert relative_difference(run(decoder, feed), run(replaced, feed)) < 0.05


def test_dequantized_model_computes_the_same_features(decoder: onnx.ModelProto, feed: dict[str, Array]) -> None:
    dequantized = dequantize(decoder)
    assert not [name for name in count_operations(dequantized) if "Integer" in name or "Quantize" in name]
    # The difference is larger than between two int8 models: there, every activation is rounded to eight bits.
    assert relative_difference(run(decoder, feed), run(dequantized, feed)) < 0.1


@needs_fast_int8
def test_rows_of_a_quantized_matmul_are_independent() -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((64, 32)).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["layer.half"], ["layer"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "layer"], ["y"], "product"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", None]) for name in "xy")
    graph = helper.make_graph(nodes, "layer", [x], [y], [numpy_helper.from_array(weight, "layer.half")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    quantized = quantize_matmuls(model, "layer")
    rows = rng.standard_normal((5, 64), dtype=np.float32) * np.array([[1], [0.01], [100], [0], [1]], np.float32)
    result = run(quantized, {"x": rows})
    np.testing.assert_array_equal(result[1:3], run(quantized, {"x": rows[1:3]}))
    for row, exact in zip(result, rows @ weight.astype(np.float32), strict=True):
        assert np.abs(row - exact).max() <= 0.02 * np.abs(exact).max()
