"""The voice encoder: hears somebody speak, and tells who it is and how to speak like them.

The network is our own (training/speaker_encoder): it hears log-mel frames of 10 ms and the pitch of the whole clip. Its
embedding stands for the person, whatever is said and however it was recorded.
"""

import hashlib
import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import soxr

from svc.audio.equalizer import SpectralEnvelope, measure_envelope
from svc.engine.protocol import Samples
from svc.engine.runtime import Runtime
from svc.errors import EngineUnavailable
from svc.text.language import Language
from svc.voices.parameters import LAYERS, MELODY_PITCH, PITCH_SCALES, STYLE, VoiceParameters

NETWORK = "data/voice-encoder.onnx"
NETWORK_SHA256 = "5bed6343794cb8c6b0576fbf24c0197e1cb2e4eec51633f4e3cce2cabec173e1"

Array = npt.NDArray[np.float32]

RATE = 16_000
_WINDOW, _HOP, _SPECTRUM, _BANDS = 400, 160, 512, 80
_SHORTEST = RATE // 2
_LEVEL = 0.05  # root mean square that clips are brought to
_FAINTEST = 1.1920929e-07

_PITCH_WINDOW = 1024
_LOWEST_PITCH, _HIGHEST_PITCH = 60.0, 420.0
_TYPICAL_PITCH = 150.0
_FLATTENED = 0.7  # the power that spectra of power are raised to, for the pitch


@dataclass(frozen=True, eq=False, slots=True)
class SpeakerEmbedding:
    parameters: VoiceParameters
    embedding: Array
    """[384]: two opinions of who it is, each of length one."""
    spectral_envelope: SpectralEnvelope


class OnnxSpeakerEncoder:
    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        self._filters = _mel_filters()

    @classmethod
    def load(cls, threads: int = 2) -> Self:
        """Raises `EngineUnavailable` when the network's file is damaged."""
        file = files("svc").joinpath(NETWORK)
        content = file.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != NETWORK_SHA256:
            raise EngineUnavailable(
                f"{file} is damaged: its sha256 is {NETWORK_SHA256}, this has {found}. Install svc again."
            )
        return cls(Runtime(threads).session(onnx.load_model_from_string(content)))

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        """The speaker of a mono clip; half a second is the least that can be heard, 10 to 20 s are best."""
        clip = _usual(samples, rate)
        pitch, mel = _pitch(clip), self._log_mel(clip)
        timbre, layer_offsets, foreign_layer_offsets, vocoder_embedding, embedding = self._session.run(
            ["timbre", "layers", "abroad", "grain", "embedding"], {"mel": mel[None], "pitch": pitch[None]}
        )
        parameters = VoiceParameters(
            timbre=timbre.reshape(STYLE),
            melody=np.zeros(STYLE, dtype=np.float32),
            layer_offsets=layer_offsets.reshape(LAYERS, STYLE),
            foreign_layer_offsets=foreign_layer_offsets.reshape(LAYERS, STYLE),
            vocoder_embedding=vocoder_embedding.reshape(-1),
            pitch_scale=float(np.clip(math.exp(pitch[0]) / MELODY_PITCH[Language.ENGLISH_US], *PITCH_SCALES)),
        )
        return SpeakerEmbedding(parameters, embedding.reshape(-1), measure_envelope(mel))

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return measure_envelope(self._log_mel(_usual(samples, rate)))

    @staticmethod
    def similarity(one: Array, other: Array) -> float:
        """1 for the same person, about 0 for strangers."""
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other) + 1e-9))

    def _log_mel(self, clip: Samples) -> Array:
        """[frames, 80], in the manner of Kaldi."""
        frames = np.lib.stride_tricks.sliding_window_view(clip, _WINDOW)[::_HOP]
        frames = frames - frames.mean(axis=1, keepdims=True)
        frames = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
        window = np.hanning(_WINDOW) ** 0.85
        power = np.abs(np.fft.rfft(frames * window, _SPECTRUM)) ** 2
        mel: Array = np.log(np.maximum(power @ self._filters, _FAINTEST)).astype(np.float32)
        return mel


def _usual(samples: Samples, rate: int) -> Samples:
    """At the rate and the level of all that is heard, and long enough."""
    clip = soxr.resample(samples, rate, RATE) if rate != RATE else samples
    clip = np.pad(clip, (0, max(0, _SHORTEST - len(clip)))).astype(np.float32)
    leveled: Samples = clip * (_LEVEL / (np.sqrt(np.mean(np.square(clip), dtype=np.float64)) + 1e-6)).astype(np.float32)
    return leveled


def _mel_filters() -> Array:
    """Triangles from 20 Hz to 8 kHz, evenly spaced in mel. [257, 80]"""
    bottom, top = (1127.0 * np.log(1.0 + hertz / 700.0) for hertz in (20.0, RATE / 2))
    edges = np.linspace(bottom, top, _BANDS + 2)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    bins = 1127.0 * np.log(1.0 + np.arange(_SPECTRUM // 2 + 1)[:, None] * RATE / _SPECTRUM / 700.0)
    weights = np.maximum(np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)), 0)
    weights[-1] = 0
    filters: Array = weights.astype(np.float32)
    return filters


def _pitch(clip: Samples) -> Array:
    """Log of the median pitch, its spread, and the share of frames that have one.

    A frame's pitch is the highest peak of its autocorrelation, its spectrum flattened a little: a formant's period is
    not the voice's, and in a telephone there is no fundamental to outweigh it.
    """
    frames = np.lib.stride_tricks.sliding_window_view(clip, _PITCH_WINDOW)[::_HOP]
    window = np.hanning(_PITCH_WINDOW + 1)[:-1]
    frames = (frames - frames.mean(axis=1, keepdims=True)) * window
    finer, size = 2 * RATE, 2 * _PITCH_WINDOW  # half samples: a high voice's period is few whole ones
    fading = np.fft.irfft(np.abs(np.fft.rfft(window, size)) ** 2, 2 * size)
    found = np.fft.irfft(np.abs(np.fft.rfft(frames, size)) ** (2 * _FLATTENED), 2 * size)
    lags = np.arange(int(finer / _HIGHEST_PITCH), int(finer / _LOWEST_PITCH) + 1)
    likeness = found[:, lags] / (found[:, :1] + 1e-9) * (fading[0] / fading[lags])
    energy = np.square(frames).sum(axis=1)
    voiced = (energy > 0.02 * energy.max()) & (likeness.max(axis=1) > 0.4)
    logs = np.log(finer / lags[likeness.argmax(axis=1)])[voiced]
    share = float(voiced.mean())
    if not logs.size:
        return np.array([math.log(_TYPICAL_PITCH), 0.0, 0.0], dtype=np.float32)
    median = np.sort(logs)[(logs.size - 1) // 2]
    spread = np.minimum(np.abs(logs - median), 0.5).mean() * min(1.0, share / 0.02)
    return np.array([median, spread, share], dtype=np.float32)
