"""The front half of Kokoro-82M: phonemes become a score, which a vocoder turns into sound.

    tokens ──▶ prosody ──▶ durations, text features, pitch, energy
                 └──▶ decoder ──▶ features

It is cheap and sees the whole utterance with what surrounds it, so the melody is that of the whole sentence.
Between the two the pitch is in plain Hz, which is where the delivery is shaped.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from svc.engine.graph import TIMBRES, extract, split_style_inputs
from svc.engine.protocol import Delivery, Timing, Utterance
from svc.engine.runtime import Runtime
from svc.text.g2p.vocabulary import VOCABULARY

Array = npt.NDArray[np.float32]

SAMPLE_RATE = 24_000
FRAMES_A_SECOND = 80  # of features and pitch; a duration counts pairs of them
SAMPLES_A_FRAME = 300
LONGEST = 510  # phonemes

# The names of the tensors at the seams, the same in the int8 and the fp32 file.
FEATURES, PITCH_CURVE = "/decoder/decoder/decode.3/Div_4_output_0", "/decoder/decoder/Unsqueeze_output_0"
TIMBRE = "/decoder/Slice_output_0"
_TEXT, _DURATIONS = "/encoder/MatMul_1_output_0", "/encoder/Clip_output_0"
_PITCH, _ENERGY = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"

_ANTICIPATION = 6  # frames by which a phoneme is heard before the model's durations have it begin (measured)
_LEAD_IN = 4  # frames of silence kept before the first sound; the model makes up to 26
_TAKE_SPREAD = 0.04  # how far a take strays from the voice's own melody style
_PAD = 0


@dataclass(frozen=True, slots=True)
class AcousticFeatures:
    """What is to be heard: an utterance with its surroundings, frame by frame."""

    features: Array
    """[1, 512, frames]"""
    pitch: Array
    """[1, frames], in Hz; unvoiced frames are near zero."""
    timbre: Array
    """[1, 128]"""
    starts: npt.NDArray[np.int64]
    """The frames where each phoneme of the utterance begins, and where the last one ends."""
    onset: int
    """The frame where the first phoneme is heard: some silence before it belongs to the utterance."""

    def timings(self, first: int, last: int) -> tuple[Timing, ...]:
        """When the phonemes `first:last` are heard, in seconds from the start of the utterance."""
        seconds = (np.maximum(self.starts, self.onset) - self.starts[0]) / FRAMES_A_SECOND
        return tuple(Timing(i, float(seconds[i]), float(seconds[i + 1])) for i in range(first, last))


class AcousticModel:
    def __init__(self, model: onnx.ModelProto, runtime: Runtime) -> None:
        self._tokens = model.graph.input[0].name  # "tokens" in the int8 file, "input_ids" in the fp32 file
        prosody = extract(model, [self._tokens, "style", "speed"], [_DURATIONS, _TEXT, _PITCH, _ENERGY])
        self._prosody = runtime.session(prosody)
        decoder = extract(model, [_TEXT, _PITCH, _ENERGY, TIMBRE], [FEATURES])
        self._decoder = runtime.session(split_style_inputs(decoder, TIMBRE))

    def features_of(self, utterance: Utterance) -> AcousticFeatures:
        phonemes = utterance.before + utterance.phonemes + utterance.after
        tokens = [_PAD, *(VOCABULARY[symbol] for symbol in phonemes), _PAD]
        style = utterance.style[min(len(phonemes), len(utterance.style)) - 1].reshape(1, 256)
        timbre, melody = style[:, :128], _take(style[:, 128:], utterance.delivery)
        durations, text, pitch, energy = self._prosody.run(
            [_DURATIONS, _TEXT, _PITCH, _ENERGY],
            {
                self._tokens: np.array([tokens], dtype=np.int64),
                "style": np.concatenate([timbre, melody], axis=1),
                "speed": np.array([utterance.delivery.speed], dtype=np.float32),
            },
        )
        pitch = _scale_pitch_range(pitch * np.float32(utterance.pitch_scale), utterance.delivery.pitch_range)
        *timbres, last = timbre + utterance.layer_offsets[:, None]
        (features,) = self._decoder.run(
            [FEATURES], {_TEXT: text, _PITCH: pitch, _ENERGY: energy, **dict(zip(TIMBRES, timbres, strict=True))}
        )
        starts, onset = _heard(durations.reshape(-1).astype(np.int64), utterance)
        return AcousticFeatures(features, pitch, last, starts, onset)


def _heard(durations: npt.NDArray[np.int64], utterance: Utterance) -> tuple[npt.NDArray[np.int64], int]:
    """Where the utterance's phonemes begin, and the first is heard.

    Silence around the utterance belongs to it; the sound of its surroundings does not.
    """
    ends = 2 * np.cumsum(durations)
    frames = np.concatenate([[0], np.maximum(ends[:-1] - _ANTICIPATION, 0), ends[-1:]])
    first = 1 + len(utterance.before)  # the model's tokens: padding, before, phonemes, after, padding
    starts = frames[first : first + len(utterance.phonemes) + 1].copy()
    onset = int(starts[0])
    if not utterance.before:
        starts[0] = max(0, onset - _LEAD_IN)
    if not utterance.after:
        starts[-1] = frames[-1]
    return starts, onset


def _take(melody: Array, delivery: Delivery) -> Array:
    if delivery.seed is None:
        return melody
    chance = np.random.default_rng(delivery.seed)
    return melody + _TAKE_SPREAD * chance.standard_normal(melody.shape, dtype=np.float32)


def _scale_pitch_range(pitch: Array, pitch_range: float) -> Array:
    """Widens or narrows the melody around its middle, in octaves; what is unvoiced (0 Hz) stays so."""
    voiced = pitch[pitch > 20]
    if pitch_range == 1.0 or not voiced.size:
        return pitch
    interval = np.clip(pitch / np.median(voiced), 0.5, 2.0)
    swung: Array = (pitch * interval ** (pitch_range - 1.0)).astype(np.float32)
    return swung
