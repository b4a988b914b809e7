"""ONNX Runtime sessions on the CPU or an NVIDIA GPU."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import onnxruntime as ort

from svc.errors import EngineUnavailable

Device = Literal["cpu", "cuda"]

_PROVIDERS: dict[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_PROVIDER_OPTIONS: dict[Device, dict[str, str]] = {
    "cpu": {},
    # Every utterance has another length: an exhaustive search of algorithms for each takes longer than synthesis.
    "cuda": {"cudnn_conv_algo_search": "HEURISTIC"},
}
# What converts weights from half precision when a model is loaded.
_CONVERSIONS = ["ConstantFolding", "FuseFp16InitializerToFp32NodeTransformer"]


@dataclass(frozen=True, slots=True)
class Runtime:
    threads: int
    device: Device = "cpu"

    @property
    def has_fast_int8(self) -> bool:
        """Whether products of uint8 with int8 are fast and exact.

        An x86 processor without VNNI saturates sums of two such products at 16 bits; ARM does not.
        """
        if self.device == "cuda":
            return False
        return platform.machine() in ("aarch64", "arm64") or "vnni" in _read_cpuinfo()

    def require_device(self) -> None:
        """Raises `EngineUnavailable` if ONNX Runtime cannot use the device at all."""
        if self.device == "cuda":
            ort.preload_dlls()  # CUDA and cuDNN may be installed as Python packages, where the loader does not look
        if _PROVIDERS[self.device] not in ort.get_available_providers():
            raise _cuda_unavailable("the installed one has none")

    def create_session(
        self, model: bytes | Path, *, keep_half_precision: bool = False, tf32: bool = False
    ) -> ort.InferenceSession:
        """A session on the device; raises `EngineUnavailable` rather than fall back to another device.

        A model whose weights lie in other files is given by its path, since they are looked for beside it.
        With `keep_half_precision`, weights stored so are converted at every run and not once: half of the memory, for a
        network that seldom runs. With `tf32`, a GPU multiplies numbers that are rounded to 11 bits.
        """
        self.require_device()
        provider = _PROVIDERS[self.device]
        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        # A thread that spins while it waits takes a core from other work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Float weights that are stored as int8 are made once, when they are loaded.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        # An arena keeps the memory of the longest utterance, and memory patterns are kept for every length.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        provider_options = dict(_PROVIDER_OPTIONS[self.device])
        if self.device == "cuda":
            provider_options["use_tf32"] = str(int(tf32))
        session = ort.InferenceSession(
            model,
            options,
            providers=[(provider, provider_options)],
            disabled_optimizers=_CONVERSIONS if keep_half_precision else None,
        )
        if provider not in session.get_providers():
            raise _cuda_unavailable("its libraries or the GPU cannot be used; the log above says why")
        session._model_bytes = None  # kept for falling back to another provider, which is never done here
        return session


def _read_cpuinfo() -> str:
    """What Linux says about the processor; empty on other systems."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def _cuda_unavailable(reason: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"SVC_DEVICE=cuda needs ONNX Runtime with CUDA, and {reason}. On a machine with an NVIDIA GPU install "
        "`onnxruntime-gpu[cuda,cudnn]` instead of `onnxruntime`, or set SVC_DEVICE=cpu."
    )
