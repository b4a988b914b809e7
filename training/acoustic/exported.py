"""Runs the exported graphs with ONNX Runtime."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from acoustic import model
from acoustic.export import GRAPHS
from head.model import accumulate_phase

TEXT_CONTEXT = 8
"""Tokens to either side that the text tower sees."""
PITCH = 1
"""Where the mean pitch is in the summary of the curves."""


@dataclass
class ProsodyOutput:
    """Of one sentence."""

    durations: np.ndarray  # [1, N]
    f0: np.ndarray  # [1, 2 T]
    energy: np.ndarray  # [1, 2 T]
    curve_summary: np.ndarray | None  # [1, 5]; None: measured on the curves


class ExportedNetworks:
    def __init__(self, folder: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.sessions = {n: onnxruntime.InferenceSession(folder / f"{n}.onnx", options) for n in GRAPHS}

    def run(self, graph: str, **feed: np.ndarray) -> list[np.ndarray]:
        return self.sessions[graph].run(None, feed)

    def predict_prosody(
        self, ids: np.ndarray, style: np.ndarray, durations: np.ndarray | None = None, pitch_scale: float = 1.0
    ) -> ProsodyOutput:
        """`durations`: instead of the predicted ones."""
        outputs = self.run("prosody", ids=ids, style=style, speed=np.ones(1, np.float32))
        predicted, curve_text, film, summary = outputs
        durations = predicted if durations is None else durations
        f0, energy = self.predict_curves(durations, curve_text, film)
        summary[:, PITCH] += np.log(pitch_scale)
        return ProsodyOutput(durations, f0 * np.float32(pitch_scale), energy, summary)

    def predict_curves(
        self, durations: np.ndarray, curve_text: np.ndarray, film: np.ndarray, window: slice | None = None
    ) -> list[np.ndarray]:
        """F0 and energy of the sentence, or of a window of its frames of 25 ms."""
        token, place = (values[window or slice(None)] for values in expand(durations))
        return self.run(
            "curves", curve_text=curve_text[:, token], place=place[None], duration=durations[:, token], film=film
        )

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
        tensors = [torch.from_numpy(value) for value in (ids, durations, f0, energy)]
        curves = model.summarise_curves(*tensors[2:])
        if prosody.curve_summary is not None:
            curves = torch.from_numpy(prosody.curve_summary)
        summary = model.summarise(*tensors[:2], curves).numpy()
        film, head_film = self.run("conditioning", timbre=timbre, summary=summary, vocoder_embedding=vocoder_embedding)
        token, place = expand(durations)
        phase = accumulate_phase(torch.from_numpy(f0)).numpy()
        window = window or slice(0, len(token))
        token, place = token[window], place[window]
        half = slice(2 * window.start, 2 * window.stop)
        # The text tower sees a few tokens to either side.
        first, last = max(0, int(token[0]) - TEXT_CONTEXT), int(token[-1]) + TEXT_CONTEXT + 1
        (text,) = self.run("text", ids=ids[:, first:last])
        (features,) = self.run(
            "decoder",
            text=text[:, token - first],
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


def expand(durations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each frame, the index of its token and its place in it."""
    token = np.repeat(np.arange(durations.shape[1]), durations[0])
    return token, np.arange(len(token)) - (np.cumsum(durations[0]) - durations[0])[token]
