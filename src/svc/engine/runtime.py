"""ONNX Runtime on one device: where the networks run."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import onnxruntime as ort
from onnx import ModelProto

from svc.engine.int8 import convolutions_as_products, dequantize
from svc.errors import EngineUnavailable

Device = Literal["cpu", "cuda"]

_PROVIDERS: dict[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_PROVIDER_OPTIONS: dict[Device, dict[str, str]] = {
    "cpu": {},
    # Every utterance has another length: trying out all algorithms for each would take longer than speaking. And
    # tf32 is no faster here, but moves the pitch.
    "cuda": {"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": "0"},
}


@dataclass(frozen=True, slots=True)
class Runtime:
    threads: int
    device: Device = "cpu"

    @property
    def multiplies_bytes(self) -> bool:
        """Whether products of unsigned with signed bytes are fast and exact.

        An x86 processor without VNNI clips sums of two such products to 16 bits; ARM does not.
        """
        if self.device == "cuda":
            return False
        return platform.machine() in ("aarch64", "arm64") or "vnni" in _processor()

    def session(self, model: ModelProto) -> ort.InferenceSession:
        """A session on the device; raises `EngineUnavailable` rather than fall back to another one."""
        provider = _PROVIDERS[self.device]
        if self.device == "cuda":
            ort.preload_dlls()  # CUDA and cuDNN may be installed as Python packages, where the loader does not look
        if provider not in ort.get_available_providers():
            raise _unavailable("the installed one has none")
        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        # A thread that spins while it waits takes a core from whoever could use it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # An arena keeps what the longest utterance needed, and a pattern is kept for every length there has been.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        session = ort.InferenceSession(
            self._suited(model).SerializeToString(), options, providers=[(provider, _PROVIDER_OPTIONS[self.device])]
        )
        if provider not in session.get_providers():
            raise _unavailable("its libraries or the GPU cannot be used; the log above says why")
        session._model_bytes = None  # kept for falling back to another provider, which is never done here
        return session

    def _suited(self, model: ModelProto) -> ModelProto:
        """The model with the arithmetic that the device is good at."""
        if self.device == "cuda":
            return dequantize(model)
        return convolutions_as_products(model) if self.multiplies_bytes else model


def _processor() -> str:
    """What Linux tells about the processor."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def _unavailable(reason: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"SVC_DEVICE=cuda needs ONNX Runtime with CUDA, and {reason}. On a machine with an NVIDIA GPU install "
        "`onnxruntime-gpu[cuda,cudnn]` in the place of `onnxruntime`, or set SVC_DEVICE=cpu."
    )
