"""ONNX Runtime sessions: which device they need, and that they leave the processor alone when idle."""

import time

import onnxruntime as ort
import pytest

from svc.engine import runtime
from svc.engine.protocol import Utterance
from svc.engine.runtime import Runtime
from svc.engine.turbo import TurboEngine
from svc.errors import EngineUnavailable
from svc.voices.catalogue import VoiceCatalogue

pytestmark = pytest.mark.real


def test_missing_gpu_is_an_error_with_a_remedy() -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this machine has what SVC_DEVICE=cuda needs")
    engine = TurboEngine(threads=1, device="cuda")
    with pytest.raises(EngineUnavailable, match=r"SVC_DEVICE=cuda needs .* install `onnxruntime-gpu.* SVC_DEVICE=cpu"):
        engine.load()


@pytest.mark.parametrize(("machine", "flags", "expected"), [
    ("aarch64", "", True),
    ("x86_64", "flags: avx2 avx512f avx512_vnni", True),
    ("x86_64", "flags: avx2 avx512f", False),
])  # fmt: skip
def test_int8_is_used_where_it_is_exact(
    monkeypatch: pytest.MonkeyPatch, machine: str, flags: str, expected: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(runtime, "_read_cpuinfo", lambda: flags)
    assert Runtime(threads=1).has_fast_int8 is expected


def test_idle_engine_uses_no_processor_time(voices: VoiceCatalogue) -> None:
    engine = TurboEngine(threads=2)
    engine.load()
    list(engine.synthesize(Utterance("həlˈO wˈɜɹld.", voices.default.style)))
    before = time.process_time()
    time.sleep(1)
    assert time.process_time() - before < 0.3, "a spinning thread would have used a second or two"
