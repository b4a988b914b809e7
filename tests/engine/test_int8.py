"""Int8 arithmetic in floating point: the results are the same up to rounding."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from svc.engine import acoustic_model, weights
from svc.engine.graph import extract_subgraph
from svc.engine.int8 import dequantize
from svc.engine.protocol import Array

pytestmark = pytest.mark.real

INPUTS = [acoustic_model.TEXT, acoustic_model.PITCH, acoustic_model.ENERGY, acoustic_model.TIMBRE]


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


def test_dequantized_model_computes_the_same_features(decoder: onnx.ModelProto, feed: dict[str, Array]) -> None:
    dequantized = dequantize(decoder)
    assert not [name for name in count_operations(dequantized) if "Integer" in name or "Quantize" in name]
    # The difference is larger than between two int8 models: there, every activation is rounded to eight bits.
    assert relative_difference(run(decoder, feed), run(dequantized, feed)) < 0.1
