"""The speaker encoder: from a clip of speech to an embedding of the speaker and the parameters of a voice.

Two networks of our own (see training/speaker_encoder): the encoder hears log-mel frames of 10 ms, and what it says
depends on the speaker, and hardly on what is said or how it was recorded; the mapper makes a voice of that and of the
pitch. What a voice says is heard like the recording. Asked again for more of what is missing, the mapper makes a better
one (`correct`).
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import soxr

from svc.audio.equalizer import SpectralEnvelope, measure_envelope
from svc.audio.samples import Samples
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_model
from svc.text.language.languages import Language
from svc.voices.built_in import STYLE
from svc.voices.parameters import LAYERS, MELODY_PITCH, PITCH_SCALES, VoiceParameters

NETWORK = "data/voice-encoder.onnx"
NETWORK_SHA256 = "ac6ac81f0e1357cda80c5b29af4478c236288a0730bc74f064d47a26e50857c7"
_MAPPER = "data/voice-mapper.onnx"
_MAPPER_SHA256 = "38d09b45a74342e3cb94c07f8ca4340cba9d73bf1eb863b207e2159f9f32f239"
_EMBEDDINGS = ["eres2net", "campplus", "dvector"]
_BUILT_IN_EMBEDDINGS = "data/voice-embeddings.npz"

Array = npt.NDArray[np.float32]
Embedding = npt.NDArray[np.float32]

RATE = 16_000
_WINDOW, _HOP, _SPECTRUM, _BANDS = 400, 160, 512, 80
_SHORTEST = RATE // 2
_LEVEL = 0.05  # the root mean square that clips are scaled to
_POWER_FLOOR = 1.1920929e-07
# The copy of ERes2Net takes most of the time. Of ten seconds it makes an embedding with a cosine of 0.980 to the
# network's own of the whole recording, of all of it 0.988.
_MOST_COPY_FRAMES, _FEWEST_COPY_FRAMES = 1200, 32

# By how much of what a voice lacks the mapper is asked for more: of ERes2Net's embedding, CAM++'s and the d-vector.
# With twice as much, or asked a third time, voices are no more alike.
_OVERSHOOTS = (0.3, 0.5, 0.7)

_PITCH_WINDOW = 1024
_LOWEST_PITCH, _HIGHEST_PITCH = 60.0, 420.0
_TYPICAL_PITCH = 150.0
# The mean absolute deviation of the log pitch: the same of 16 people and of the engine. People keep 0.8 of what they
# differ by in their other recordings.
_TYPICAL_SPREAD, _SPREAD_SHARE = 0.154, 0.7
_NARROWEST, _WIDEST = 0.75, 1.3
_MIN_SPREAD_SECONDS = 8.0  # with less, the text decides more than the speaker
_FLATTENING = 0.7  # the exponent of the power spectrum, for the pitch
_REGISTER = 8 / 12 * math.log(2)  # within so much of its middle a speaker's pitch remains
_REGISTER_STEP = 0.06

_COMPARED_SECONDS = 2  # with less, one person seems to be several
_MAX_COMPARED = 6  # spread over the recording: comparing all of it would take as long as cloning
# Of 80 recordings of one person, also in noise, with echo and by telephone, none had less than 0.529 with itself. Two
# people who speak at once and equally loud had at most 0.455 (11 of 12 pairs; 0.63 the other), and one after the other
# at most 0.22 (12 pairs).
_SAME_SPEAKER = 0.5


@dataclass(frozen=True, eq=False, slots=True)
class SpeakerEmbedding:
    """What the encoder finds in a clip."""

    parameters: VoiceParameters
    """With these the engine speaks like the person; the equalizer gains are still flat."""
    embedding: Embedding
    """[384]: who it is, whatever is said. Two embeddings, ERes2Net's and CAM++'s, each of length one."""
    spectral_envelope: SpectralEnvelope
    dvector: Embedding
    """[256]: like the other two, but with the spectrum of the voice, which they ignore."""
    pitch: Array
    """[3], of `measure_pitch`."""


class SpeakerEncoder(Protocol):
    """Called from one thread at a time."""

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding: ...

    def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
        """Parameters with which the engine speaks more like the person than it did in `spoken`, with those it had."""

    def embed_quickly(self, samples: Samples, rate: int) -> Embedding:
        """The second of the two embeddings alone, in a third of the time: enough to tell people apart."""

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        """The envelope alone, which is little work."""

    def similarity(self, one: Embedding, other: Embedding) -> float:
        """1 for the same person, about 0 for different ones."""


class OnnxSpeakerEncoder:
    def __init__(self, encoder: ort.InferenceSession, mapper: ort.InferenceSession) -> None:
        self._encoder = encoder
        self._mapper = mapper

    @classmethod
    def load(cls, threads: int = 2) -> Self:
        """Raises `EngineUnavailable` when a network's file is damaged."""
        encoder, mapper = read_packaged_model(NETWORK, NETWORK_SHA256), read_packaged_model(_MAPPER, _MAPPER_SHA256)
        runtime = Runtime(threads)
        return cls(runtime.create_session(encoder), runtime.create_session(mapper, keep_half_precision=True))

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        """Encodes a mono clip: at least half a second, best 10 to 20 s."""
        clip = prepare_clip(samples, rate)
        pitch, mel = measure_pitch(clip), _log_mel(clip)
        embeddings = self._embed(mel)
        pitch_range = _find_pitch_range(float(pitch[1]), len(clip) / RATE)
        parameters = replace(self._predict(embeddings, pitch), pitch_range=pitch_range)
        eres2net, campplus, dvector = embeddings
        return SpeakerEmbedding(parameters, np.concatenate([eres2net, campplus]), measure_envelope(mel), dvector, pitch)

    def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
        wanted = [*np.split(speaker.embedding, 2), speaker.dvector]
        heard = self._embed(measure_log_mel(spoken, rate))
        exaggerated = [
            _normalize(one + share * (one - other))
            for one, other, share in zip(wanted, heard, _OVERSHOOTS, strict=True)
        ]
        known = speaker.parameters
        return replace(self._predict(exaggerated, speaker.pitch), pitch_range=known.pitch_range, pace=known.pace)

    def _embed(self, mel: Array) -> list[Embedding]:
        """ERes2Net's embedding, CAM++'s, and the d-vector."""
        inputs = {"mel": mel[None], "copy mel": mel[None, :_MOST_COPY_FRAMES]}
        return [each.reshape(-1) for each in self._encoder.run(_EMBEDDINGS, inputs)]

    def _predict(self, embeddings: list[Embedding], pitch: Array) -> VoiceParameters:
        inputs = {name: each[None] for name, each in zip(_EMBEDDINGS, embeddings, strict=True)}
        timbre, layer_offsets, foreign_layer_offsets, vocoder_embedding, mask_offset = self._mapper.run(
            ["timbre", "layers", "abroad", "grain", "mask"], {**inputs, "pitch": pitch[None]}
        )
        return VoiceParameters(
            timbre=timbre.reshape(STYLE),
            melody=np.zeros(STYLE, dtype=np.float32),
            layer_offsets=layer_offsets.reshape(LAYERS, STYLE),
            foreign_layer_offsets=foreign_layer_offsets.reshape(LAYERS, STYLE),
            vocoder_embedding=vocoder_embedding.reshape(-1),
            mask_offset=mask_offset.reshape(-1),
            pitch_scale=float(np.clip(math.exp(pitch[0]) / MELODY_PITCH[Language.ENGLISH_US], *PITCH_SCALES)),
        )

    def embed_quickly(self, samples: Samples, rate: int) -> Embedding:
        mel = measure_log_mel(samples, rate)[None]
        # It does not depend on what the copy of ERes2Net hears.
        (embedding,) = self._encoder.run(["campplus"], {"mel": mel, "copy mel": mel[:, :_FEWEST_COPY_FRAMES]})
        found: Embedding = embedding.reshape(-1)
        return found

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return measure_envelope(measure_log_mel(samples, rate))

    @staticmethod
    def similarity(one: Embedding, other: Embedding) -> float:
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other) + 1e-9))


class BuiltInEmbeddings:
    """The embeddings of the built-in voices: a clone ought to be more similar to its reference than any of them."""

    def __init__(self, embeddings: dict[str, Embedding]) -> None:
        """`embeddings` by the keys of the voices."""
        self._embeddings = embeddings

    @classmethod
    def load(cls) -> Self:
        archive = np.load(BytesIO(files("svc").joinpath(_BUILT_IN_EMBEDDINGS).read_bytes()))
        embeddings = archive["embeddings"].astype(np.float32)
        return cls({str(key): each for key, each in zip(archive["keys"], embeddings, strict=True)})

    def find_nearest(self, encoder: SpeakerEncoder, embedding: Embedding) -> tuple[str, float]:
        """The key of the most similar voice, and its similarity."""
        similarities = {key: encoder.similarity(embedding, each) for key, each in self._embeddings.items()}
        key = max(similarities, key=similarities.__getitem__)
        return key, similarities[key]


def has_several_speakers(encoder: SpeakerEncoder, samples: Samples, rate: int) -> bool:
    """Whether the recording falls into two parts that are not of the same speaker."""
    length = _COMPARED_SECONDS * rate
    count = min(_MAX_COMPARED, len(samples) // length)
    if count < 2:
        return False
    starts = np.linspace(0, len(samples) - length, count).astype(int)
    embeddings = [encoder.embed_quickly(samples[start : start + length], rate) for start in starts]
    similarities = np.array([[encoder.similarity(one, other) for other in embeddings] for one in embeddings])
    # Two clusters: around each of the two least similar segments, those that are nearer to it than to the other.
    one, other = np.unravel_index(similarities.argmin(), similarities.shape)
    if one == other:
        return False  # nothing is less similar than a segment to itself
    side = similarities[one] < similarities[other]
    return bool(similarities[np.ix_(side, ~side)].mean() < _SAME_SPEAKER)


def _normalize(embedding: Embedding) -> Embedding:
    normalized: Embedding = embedding / np.linalg.norm(embedding)
    return normalized


def prepare_clip(samples: Samples, rate: int) -> Samples:
    """The clip at `RATE`, at the standard level, padded to half a second."""
    clip = soxr.resample(samples, rate, RATE) if rate != RATE else samples
    clip = np.pad(clip, (0, max(0, _SHORTEST - len(clip)))).astype(np.float32)
    leveled: Samples = clip * (_LEVEL / (np.sqrt(np.mean(np.square(clip), dtype=np.float64)) + 1e-6)).astype(np.float32)
    return leveled


def measure_log_mel(samples: Samples, rate: int) -> Array:
    """What the encoder reads of a clip. [frames, 80]"""
    return _log_mel(prepare_clip(samples, rate))


def _log_mel(clip: Samples) -> Array:
    """[frames, 80], as Kaldi computes them."""
    frames = np.lib.stride_tricks.sliding_window_view(clip, _WINDOW)[::_HOP]
    frames = frames - frames.mean(axis=1, keepdims=True)
    frames = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    window = np.hanning(_WINDOW) ** 0.85
    power = np.abs(np.fft.rfft(frames * window, _SPECTRUM)) ** 2
    mel: Array = np.log(np.maximum(power @ _mel_filters(), _POWER_FLOOR)).astype(np.float32)
    return mel


@cache
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


def _find_pitch_range(spread: float, seconds: float) -> float:
    """The factor by which the person's melody is wider than usual; 1 if there is too little speech to tell."""
    if seconds < _MIN_SPREAD_SECONDS:
        return 1.0
    return round(min(max(1 + _SPREAD_SHARE * (spread / _TYPICAL_SPREAD - 1), _NARROWEST), _WIDEST), 3)


def measure_pitch(clip: Samples) -> Array:
    """[3]: the log of the median pitch, its spread, and the share of voiced frames.

    A frame's pitch is the highest peak of its autocorrelation, computed with a flattened spectrum: otherwise the period
    of a strong formant wins, above all in telephone speech, which has no fundamental. Peaks far from the pitch of all
    frames together do not count: they are mostly overtones.
    """
    frames = np.lib.stride_tricks.sliding_window_view(clip, _PITCH_WINDOW)[::_HOP]
    window = np.hanning(_PITCH_WINDOW + 1)[:-1]
    frames = (frames - frames.mean(axis=1, keepdims=True)) * window
    rate, size = 2 * RATE, 2 * _PITCH_WINDOW  # lags of half samples: the period of a high voice is only a few samples
    falloff = np.fft.irfft(np.abs(np.fft.rfft(window, size)) ** 2, 2 * size)
    correlation = np.fft.irfft(np.abs(np.fft.rfft(frames, size)) ** (2 * _FLATTENING), 2 * size)
    lags = np.arange(int(rate / _HIGHEST_PITCH), int(rate / _LOWEST_PITCH) + 1)
    periodicity = correlation[:, lags] / (correlation[:, :1] + 1e-9) * (falloff[0] / falloff[lags])
    energy = np.square(frames).sum(axis=1)
    voiced = (energy > 0.02 * energy.max()) & (periodicity.max(axis=1) > 0.4)
    share = float(voiced.mean())
    if not share:
        return np.array([math.log(_TYPICAL_PITCH), 0.0, 0.0], dtype=np.float32)
    logs = _choose_pitches(periodicity[voiced], np.log(rate / lags))
    median = np.sort(logs)[(logs.size - 1) // 2]
    spread = np.minimum(np.abs(logs - median), 0.5).mean() * min(1.0, share / 0.02)
    return np.array([median, spread, share], dtype=np.float32)


def _choose_pitches(
    periodicity: npt.NDArray[np.float64], candidates: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The most periodic candidate of each frame, within the range in which the frames are most periodic on average.

    `periodicity`: [frames, candidates]; all pitches are logarithms.
    """
    centres = np.arange(candidates.min(), candidates.max(), _REGISTER_STEP)
    ranges = [np.flatnonzero(np.abs(candidates - centre) <= _REGISTER) for centre in centres]
    best = max(ranges, key=lambda each: periodicity[:, each].max(axis=1).mean())
    chosen: npt.NDArray[np.float64] = candidates[best][periodicity[:, best].argmax(axis=1)]
    return chosen
