"""Kokoro-82M without its vocoder: predicts, from phonemes and a style, the features that a vocoder renders.

    tokens ──▶ prosody ──▶ durations, text features, pitch, energy
                 └──▶ decoder ──▶ features

It is cheap and sees the whole utterance with its context, so the intonation is that of the whole sentence. Between the
two parts the pitch is in Hz: `pitch_scale` and `pitch_range` are applied there.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from svc.engine.graph import LAYER_TIMBRES, extract_subgraph, split_timbre_input
from svc.engine.protocol import Array, Delivery, Timing, Utterance
from svc.engine.runtime import Runtime
from svc.text.g2p.vocabulary import VOCABULARY

SAMPLE_RATE = 24_000
FRAMES_PER_SECOND = 80  # of features and pitch; the model's durations count pairs of frames
SAMPLES_PER_FRAME = 300
MAX_PHONEMES = 510

# The tensors at which the graph is cut; their names are the same in the int8 and the fp32 file.
FEATURES, PITCH_CURVE = "/decoder/decoder/decode.3/Div_4_output_0", "/decoder/decoder/Unsqueeze_output_0"
TIMBRE = "/decoder/Slice_output_0"
TEXT, DURATIONS = "/encoder/MatMul_1_output_0", "/encoder/Clip_output_0"
PITCH, ENERGY = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"

_ONSET_LEAD = 6  # frames by which a phoneme is heard before its predicted start (measured)
_LEADING_SILENCE = 4  # frames kept before the first phoneme; the model predicts up to 26
_SEED_DEVIATION = 0.04  # standard deviation of what a seed adds to the prosody half of the style
_PAD = 0


@dataclass(frozen=True, slots=True)
class AcousticFeatures:
    """The vocoder's input for an utterance with its context, frame by frame."""

    features: Array
    """[1, 512, frames]"""
    pitch: Array
    """[1, frames], in Hz; near zero in unvoiced frames."""
    timbre: Array
    """[1, 128]: the vocoder's."""
    starts: npt.NDArray[np.int64]
    """The first frame of each phoneme of the utterance, and the end of the last one."""
    onset: int
    """The frame at which the first phoneme is heard: `starts[0]` lies before it by the leading silence."""

    def timings(self, first: int, last: int) -> tuple[Timing, ...]:
        """The timings of the phonemes `first:last`."""
        seconds = (np.maximum(self.starts, self.onset) - self.starts[0]) / FRAMES_PER_SECOND
        return tuple(Timing(i, float(seconds[i]), float(seconds[i + 1])) for i in range(first, last))


class AcousticModel:
    def __init__(self, model: onnx.ModelProto, runtime: Runtime) -> None:
        self._tokens = model.graph.input[0].name  # "tokens" in the int8 file, "input_ids" in the fp32 file
        prosody = extract_subgraph(model, [self._tokens, "style", "speed"], [DURATIONS, TEXT, PITCH, ENERGY])
        self._prosody = runtime.create_session(prosody)
        decoder = extract_subgraph(model, [TEXT, PITCH, ENERGY, TIMBRE], [FEATURES])
        self._decoder = runtime.create_session(split_timbre_input(decoder, TIMBRE))

    def predict(self, utterance: Utterance) -> AcousticFeatures:
        phonemes = utterance.before + utterance.phonemes + utterance.after
        tokens = [_PAD, *(VOCABULARY[symbol] for symbol in phonemes), _PAD]
        style = utterance.style_vector
        timbre, prosody = style[:, :128], _vary_prosody(style[:, 128:], utterance.delivery)
        durations, text, pitch, energy = self._prosody.run(
            [DURATIONS, TEXT, PITCH, ENERGY],
            {
                self._tokens: np.array([tokens], dtype=np.int64),
                "style": np.concatenate([timbre, prosody], axis=1),
                "speed": np.array([utterance.delivery.speed], dtype=np.float32),
            },
        )
        pitch = _scale_pitch_range(pitch * np.float32(utterance.pitch_scale), utterance.delivery.pitch_range)
        *decoder_timbres, vocoder_timbre = timbre + utterance.layer_offsets[:, None]
        (features,) = self._decoder.run(
            [FEATURES],
            {TEXT: text, PITCH: pitch, ENERGY: energy, **dict(zip(LAYER_TIMBRES, decoder_timbres, strict=True))},
        )
        starts, onset = _locate_phonemes(durations.reshape(-1).astype(np.int64), utterance)
        return AcousticFeatures(features, pitch, vocoder_timbre, starts, onset)


def _locate_phonemes(durations: npt.NDArray[np.int64], utterance: Utterance) -> tuple[npt.NDArray[np.int64], int]:
    """`starts` and `onset` of the features.

    Without context, the silence before and after the phonemes is part of the utterance; with context, it is not.
    """
    ends = 2 * np.cumsum(durations)
    frames = np.concatenate([[0], np.maximum(ends[:-1] - _ONSET_LEAD, 0), ends[-1:]])
    first = 1 + len(utterance.before)  # the model's tokens: padding, before, phonemes, after, padding
    starts = frames[first : first + len(utterance.phonemes) + 1].copy()
    onset = int(starts[0])
    if not utterance.before:
        starts[0] = max(0, onset - _LEADING_SILENCE)
    if not utterance.after:
        starts[-1] = frames[-1]
    return starts, onset


def _vary_prosody(prosody: Array, delivery: Delivery) -> Array:
    if delivery.seed is None:
        return prosody
    rng = np.random.default_rng(delivery.seed)
    return prosody + _SEED_DEVIATION * rng.standard_normal(prosody.shape, dtype=np.float32)


def _scale_pitch_range(pitch: Array, pitch_range: float) -> Array:
    """Widens or narrows the pitch around its median, in octaves; unvoiced frames (0 Hz) stay as they are."""
    voiced = pitch[pitch > 20]
    if pitch_range == 1.0 or not voiced.size:
        return pitch
    interval = np.clip(pitch / np.median(voiced), 0.5, 2.0)
    scaled: Array = (pitch * interval ** (pitch_range - 1.0)).astype(np.float32)
    return scaled
