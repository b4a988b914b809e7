"""Runs the exported graphs with ONNX Runtime."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from acoustic import model
from acoustic.export import GRAPHS
from head.model import accumulate_phase


@dataclass
class ProsodyOutput:
    """Of one sentence."""

    durations: np.ndarray  # [1, N]
    f0: np.ndarray  # [1, 2 T]
    energy: np.ndarray  # [1, 2 T]
    text: np.ndarray  # [1, N, 384]


class ExportedNetworks:
    def __init__(self, folder: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.sessions = {n: onnxruntime.InferenceSession(folder / f"{n}.onnx", options) for n in GRAPHS}

    def run(self, graph: str, **feed: np.ndarray) -> list[np.ndarray]:
        return self.sessions[graph].run(None, feed)

    def predict_prosody(self, ids: np.ndarray, style: np.ndarray) -> ProsodyOutput:
        return ProsodyOutput(*self.run("prosody", ids=ids, style=style, speed=np.ones(1, np.float32)))

    def synthesize(
        self,
        ids: np.ndarray,
        prosody: ProsodyOutput,
        timbre: np.ndarray,
        vocoder_embedding: np.ndarray,
        window: slice | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Features and wave of the sentence, or of a window of its frames of 25 ms."""
        durations, f0, energy = prosody.durations, prosody.f0, prosody.energy
        tensors = [torch.from_numpy(value) for value in (ids[0], durations[0], f0, energy)]
        summary = model.summarise(*tensors).numpy()
        film, head_film = self.run("conditioning", timbre=timbre, summary=summary, vocoder_embedding=vocoder_embedding)
        token = np.repeat(np.arange(ids.shape[1]), durations[0])
        place = np.arange(len(token)) - np.repeat(np.cumsum(durations[0]) - durations[0], durations[0])
        phase = accumulate_phase(torch.from_numpy(f0)).numpy()
        window = window or slice(0, len(token))
        token, place = token[window], place[window]
        half = slice(2 * window.start, 2 * window.stop)
        (features,) = self.run(
            "decoder",
            text=prosody.text[:, token],
            place=place[None],
            duration=durations[:, token],
            f0=f0[:, half],
            energy=energy[:, half],
            film=film,
        )
        (wave,) = self.run(
            "head",
            features=features,
            f0=f0[:, half],
            phase=phase[:, half],
            film=head_film,
            position=np.array([half.start]),
            mask_offset=np.zeros((1, model.MASKS), np.float32),
        )
        return features, wave
