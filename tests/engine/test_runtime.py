"""Where the networks run, and the arithmetic that suits it: the results are the same up to rounding."""

import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from svc.engine import acoustic_model as front
from svc.engine import runtime, weights
from svc.engine.acoustic_model import Array
from svc.engine.graph import extract
from svc.engine.int8 import convolutions_as_products, dequantize, products_by_rows
from svc.engine.protocol import Utterance
from svc.engine.runtime import Runtime
from svc.engine.turbo import TurboEngine
from svc.errors import EngineUnavailable
from svc.voices.catalogue import VoiceCatalogue

INPUTS = [front._TEXT, front._PITCH, front._ENERGY, front.TIMBRE]

where_bytes_are_multiplied = pytest.mark.skipif(
    not Runtime(threads=1).multiplies_bytes, reason="this processor would clip the sums"
)


@pytest.fixture(scope="module")
def decoder() -> onnx.ModelProto:
    """The part of Kokoro's int8 file with the most convolutions."""
    model = onnx.load_model_from_string(weights.load(None, "", Path()))
    return extract(model, INPUTS, [front.FEATURES])


@pytest.fixture(scope="module")
def feed() -> dict[str, Array]:
    chance = np.random.default_rng(0)
    tones = 150 + 50 * np.sin(np.arange(40, dtype=np.float32) / 5)[None]
    shapes = {front._TEXT: (1, 512, 20), front._ENERGY: (1, 40), front.TIMBRE: (1, 128)}
    drawn = {name: 0.3 * chance.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    return {**drawn, front._PITCH: tones}


def _run(model: onnx.ModelProto, feed: dict[str, Array]) -> Array:
    result: Array = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)[
        0
    ]
    return result


def _operations(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def _difference(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(one))


@where_bytes_are_multiplied
def test_convolutions_as_products_make_the_same_features(decoder: onnx.ModelProto, feed: dict[str, Array]) -> None:
    products = convolutions_as_products(decoder)
    left = _operations(decoder)["ConvInteger"] - _operations(products)["MatMulIntegerToFloat"]
    assert _operations(products)["ConvInteger"] == left == 2, "all but the two that halve the rate of pitch and energy"
    assert _difference(_run(decoder, feed), _run(products, feed)) < 0.05


def test_floats_make_the_same_features(decoder: onnx.ModelProto, feed: dict[str, Array]) -> None:
    floats = dequantize(decoder)
    assert not [name for name in _operations(floats) if "Integer" in name or "Quantize" in name]
    # Integers differ from floats by more than from each other: every activation is rounded to eight bits.
    assert _difference(_run(decoder, feed), _run(floats, feed)) < 0.1


@where_bytes_are_multiplied
def test_products_by_rows_know_nothing_of_other_rows() -> None:
    chance = np.random.default_rng(0)
    weight = chance.standard_normal((64, 32)).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["layer.half"], ["layer"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "layer"], ["y"], "product"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", None]) for name in "xy")
    graph = helper.make_graph(nodes, "layer", [x], [y], [numpy_helper.from_array(weight, "layer.half")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    quantized = products_by_rows(model, "layer")
    rows = chance.standard_normal((5, 64), dtype=np.float32) * np.array([[1], [0.01], [100], [0], [1]], np.float32)
    whole = _run(quantized, {"x": rows})
    np.testing.assert_array_equal(whole[1:3], _run(quantized, {"x": rows[1:3]}))
    for row, exact in zip(whole, rows @ weight.astype(np.float32), strict=True):
        assert np.abs(row - exact).max() <= 0.02 * np.abs(exact).max()


def test_a_missing_gpu_is_named() -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this machine has what SVC_DEVICE=cuda needs")
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=1, device="cuda")
    with pytest.raises(EngineUnavailable, match=r"SVC_DEVICE=cuda needs .* install `onnxruntime-gpu.* SVC_DEVICE=cpu"):
        engine.load()


@pytest.mark.parametrize(("machine", "flags", "expected"), [
    ("aarch64", "", True),
    ("x86_64", "flags: avx2 avx512f avx512_vnni", True),
    ("x86_64", "flags: avx2 avx512f", False),
])  # fmt: skip
def test_bytes_are_multiplied_where_that_is_exact(
    monkeypatch: pytest.MonkeyPatch, machine: str, flags: str, expected: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(runtime, "_processor", lambda: flags)
    assert Runtime(threads=1).multiplies_bytes is expected


def test_an_idle_engine_does_nothing(voices: VoiceCatalogue) -> None:
    engine = TurboEngine(lambda: weights.load(None, "", Path()), threads=2)
    engine.load()
    list(engine.synthesize(Utterance("həlˈO wˈɜɹld.", voices.default.style)))
    worked = time.process_time()
    time.sleep(1)
    assert time.process_time() - worked < 0.3, "a thread that spins would have used a second or two"
