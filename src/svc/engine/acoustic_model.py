"""Kokoro-82M without its vocoder: predicts, from phonemes and a style, the features that a vocoder renders.

    tokens ──▶ prosody ──▶ durations, text features, pitch, energy
                 └──▶ decoder ──▶ features

It is cheap and sees the whole utterance with its context, so the intonation is that of the whole sentence. Between the
two parts the pitch is in Hz: `pitch_scale` and `pitch_range` are applied there.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from svc.engine.graph import LAYER_TIMBRES, extract_subgraph, split_timbre_input
from svc.engine.int8 import serialize_for
from svc.engine.phonemes import PhonemeFrames, locate_phonemes, tokenize, vary_prosody
from svc.engine.protocol import Array, Utterance
from svc.engine.runtime import Runtime

# The tensors at which the graph is cut; their names are the same in the int8 and the fp32 file.
FEATURES, PITCH_CURVE = "/decoder/decoder/decode.3/Div_4_output_0", "/decoder/decoder/Unsqueeze_output_0"
TIMBRE = "/decoder/Slice_output_0"
TEXT, DURATIONS = "/encoder/MatMul_1_output_0", "/encoder/Clip_output_0"
PITCH, ENERGY = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"


@dataclass(frozen=True, slots=True)
class AcousticFeatures:
    """The vocoder's input for an utterance with its context, frame by frame."""

    features: Array
    """[1, 512, frames]"""
    pitch: Array
    """[1, frames], in Hz; near zero in unvoiced frames."""
    timbre: Array
    """[1, 128]: the vocoder's."""
    phonemes: PhonemeFrames


class AcousticModel:
    def __init__(self, model: onnx.ModelProto, runtime: Runtime) -> None:
        self._tokens = model.graph.input[0].name  # "tokens" in the int8 file, "input_ids" in the fp32 file
        prosody = extract_subgraph(model, [self._tokens, "style", "speed"], [DURATIONS, TEXT, PITCH, ENERGY])
        self._prosody = runtime.create_session(serialize_for(runtime, prosody))
        decoder = extract_subgraph(model, [TEXT, PITCH, ENERGY, TIMBRE], [FEATURES])
        self._decoder = runtime.create_session(serialize_for(runtime, split_timbre_input(decoder, TIMBRE)))

    def predict(self, utterance: Utterance) -> AcousticFeatures:
        style = utterance.choose_style()
        timbre, prosody = style[:, :128], vary_prosody(style[:, 128:], utterance.delivery)
        durations, text, pitch, energy = self._prosody.run(
            [DURATIONS, TEXT, PITCH, ENERGY],
            {
                self._tokens: tokenize(utterance),
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
        phonemes = locate_phonemes(durations.reshape(-1).astype(np.int64), utterance)
        return AcousticFeatures(features, pitch, vocoder_timbre, phonemes)


def _scale_pitch_range(pitch: Array, pitch_range: float) -> Array:
    """Widens or narrows the pitch around its median, in octaves; unvoiced frames (0 Hz) stay as they are."""
    voiced = pitch[pitch > 20]
    if pitch_range == 1.0 or not voiced.size:
        return pitch
    interval = np.clip(pitch / np.median(voiced), 0.5, 2.0)
    scaled: Array = (pitch * interval ** (pitch_range - 1.0)).astype(np.float32)
    return scaled
