"""Resemblyzer, a speaker network that no network of svc was trained with. Runs in the evaluation environment.

Only the weights come from its package, whose code needs a compiler to install.
"""

from pathlib import Path

import librosa  # type: ignore[import-not-found]
import numpy as np
import numpy.typing as npt
import torch  # type: ignore[import-not-found]

_RATE, _WINDOW, _HOP, _BANDS = 16_000, 400, 160, 40
_FRAMES, _STEP = 160, 77  # an utterance is the mean of overlapping windows of 1.6 s
_LEVEL = 10 ** (-30 / 20)


class Resemblyzer:
    def __init__(self, weights: Path) -> None:
        self._lstm = torch.nn.LSTM(_BANDS, 256, 3, batch_first=True)
        self._linear = torch.nn.Linear(256, 256)
        stored = torch.load(weights, map_location="cpu", weights_only=False)["model_state"]
        for name, layer in (("lstm", self._lstm), ("linear", self._linear)):
            prefix = f"{name}."
            layer.load_state_dict({k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)})

    def embed(self, audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """A speaker embedding of length one. [256]"""
        audio = audio * (_LEVEL / (np.sqrt(np.mean(np.square(audio))) + 1e-9))
        mel = librosa.feature.melspectrogram(y=audio, sr=_RATE, n_fft=_WINDOW, hop_length=_HOP, n_mels=_BANDS).T
        mel = np.pad(mel, ((0, max(0, _FRAMES - len(mel))), (0, 0)))
        windows = np.stack([mel[i : i + _FRAMES] for i in range(0, len(mel) - _FRAMES + 1, _STEP)])
        with torch.no_grad():
            hidden = self._lstm(torch.from_numpy(windows.astype(np.float32)))[1][0][-1]
            parts = torch.nn.functional.normalize(torch.relu(self._linear(hidden)), dim=1)
        mean: npt.NDArray[np.float32] = parts.mean(dim=0).numpy()
        return mean / np.linalg.norm(mean)
