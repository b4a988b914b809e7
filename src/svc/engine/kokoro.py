"""Kokoro-82M through ONNX Runtime, cut at three seams.

    tokens ──▶ prosody ──▶ durations, text features, pitch, energy
                 └──▶ decoder ──▶ features ──▶ generator ──▶ sound

Prosody and decoder are cheap and see the whole utterance with what surrounds it, so the melody is that of the
whole sentence. The generator takes nearly all the time: it runs from pause to pause, so the first phrase is
heard while the rest is still being made, and only over what is to be heard. Between prosody and decoder the
pitch is in plain Hz, which is where the delivery is shaped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from svc.engine.alphabet import SYMBOLS
from svc.engine.graph import extract
from svc.engine.protocol import Chunk, Delivery, Samples, Timing, Utterance
from svc.engine.windows import windows

Array = npt.NDArray[np.float32]

# The names of the tensors at the seams, the same in the int8 and the fp32 file.
_TEXT, _DURATIONS = "/encoder/MatMul_1_output_0", "/encoder/Clip_output_0"
_PITCH, _ENERGY = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"
_FEATURES, _PITCH_CURVE = "/decoder/decoder/decode.3/Div_4_output_0", "/decoder/decoder/Unsqueeze_output_0"
_TIMBRE = "/decoder/Slice_output_0"

_FRAMES_A_SECOND = 80  # of features and pitch; a duration counts pairs of them
_SAMPLES_A_FRAME = 300
_ANTICIPATION = 6  # frames by which a phoneme is heard before the model's durations have it begin (measured)
_MARGIN = 8  # frames on each side of a window that the generator's convolutions can see
_LEAD_IN = 4  # frames of silence kept before the first sound; the model makes up to 26
_TAKE_SPREAD = 0.04  # how far a take strays from the voice's own melody style
_PAD = 0
_FADE_OUT = np.linspace(1, 0, _SAMPLES_A_FRAME, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Score:
    """Everything that the generator needs, for the whole utterance and its surroundings."""

    features: Array
    pitch: Array
    timbre: Array
    frames: npt.NDArray[np.int64]
    """Where each token begins, in frames, and where the last one ends."""


class KokoroEngine:
    name = "kokoro"
    sample_rate = 24_000
    max_phonemes = 510

    def __init__(self, read_weights: Callable[[], bytes], threads: int) -> None:
        self._read_weights = read_weights
        self._threads = threads

    def load(self) -> None:
        model = onnx.load_model_from_string(self._read_weights())
        tokens, audio = model.graph.input[0].name, model.graph.output[0].name
        self._tokens = tokens  # "tokens" in the int8 file, "input_ids" in the fp32 file
        self._prosody = self._session(extract(model, [tokens, "style", "speed"], [_DURATIONS, _TEXT, _PITCH, _ENERGY]))
        self._decoder = self._session(extract(model, [_TEXT, _PITCH, _ENERGY, _TIMBRE], [_FEATURES]))
        self._generator = self._session(extract(model, [_FEATURES, _PITCH_CURVE, _TIMBRE], [audio]))
        self._warm_up()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        score = self._score(utterance)
        first = 1 + len(utterance.before)  # the model's tokens: padding, before, phonemes, after, padding
        last = first + len(utterance.phonemes)
        # Silence around the utterance belongs to it; the sound of its surroundings does not.
        starts = score.frames[first : last + 1].copy()
        starts[0] = starts[0] if utterance.before else max(0, starts[0] - _LEAD_IN)
        starts[-1] = starts[-1] if utterance.after else score.frames[-1]
        seconds = (starts - starts[0]) / _FRAMES_A_SECOND
        onset = (score.frames[first] - starts[0]) / _FRAMES_A_SECOND
        fading = None  # one frame of the window before, which overlaps with the next
        for window in windows(utterance.phonemes, starts):
            timings = tuple(
                Timing(index, float(max(onset, seconds[index])), float(seconds[index + 1]))
                for index in range(window.first, window.last)
            )
            more = window.last < len(utterance.phonemes)
            sound = self._sound(score, window.start, window.end + more)
            if fading is not None:
                sound[:_SAMPLES_A_FRAME] += (fading - sound[:_SAMPLES_A_FRAME]) * _FADE_OUT
            if more:
                sound, fading = sound[:-_SAMPLES_A_FRAME], sound[-_SAMPLES_A_FRAME:]
            yield Chunk(sound, timings)

    def _score(self, utterance: Utterance) -> _Score:
        phonemes = utterance.before + utterance.phonemes + utterance.after
        tokens = [_PAD, *(SYMBOLS[symbol] for symbol in phonemes), _PAD]
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
        pitch = _swing(pitch, utterance.delivery.pitch_range)
        (features,) = self._decoder.run([_FEATURES], {_TEXT: text, _PITCH: pitch, _ENERGY: energy, _TIMBRE: timbre})
        ends = 2 * np.cumsum(durations.reshape(-1).astype(np.int64))
        frames = np.concatenate([[0], np.maximum(ends[:-1] - _ANTICIPATION, 0), ends[-1:]])
        return _Score(features, pitch[:, None, :], timbre, frames)

    def _sound(self, score: _Score, start: int, end: int) -> Samples:
        """The sound of the frames `start:end`."""
        low, high = max(0, start - _MARGIN), min(score.features.shape[2], end + _MARGIN)
        (audio,) = self._generator.run(
            None,
            {
                _FEATURES: np.ascontiguousarray(score.features[:, :, low:high]),
                _PITCH_CURVE: np.ascontiguousarray(score.pitch[:, :, low:high]),
                _TIMBRE: score.timbre,
            },
        )
        samples: Samples = audio.reshape(-1)
        return samples[(start - low) * _SAMPLES_A_FRAME : (end - low) * _SAMPLES_A_FRAME].copy()

    def _session(self, model: onnx.ModelProto) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        # A thread that spins while it waits takes a core from whoever could use it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def _warm_up(self) -> None:
        neutral = np.zeros((self.max_phonemes, 256), dtype=np.float32)
        for _ in self.synthesize(Utterance("həlˈO wˈɜɹld.", neutral)):
            pass


def _take(melody: Array, delivery: Delivery) -> Array:
    if delivery.take is None:
        return melody
    chance = np.random.default_rng(delivery.take)
    return melody + _TAKE_SPREAD * chance.standard_normal(melody.shape, dtype=np.float32)


def _swing(pitch: Array, pitch_range: float) -> Array:
    """Widens or narrows the melody around its middle, in octaves; what is unvoiced (0 Hz) stays so."""
    voiced = pitch[pitch > 20]
    if pitch_range == 1.0 or not voiced.size:
        return pitch
    interval = np.clip(pitch / np.median(voiced), 0.5, 2.0)
    swung: Array = (pitch * interval ** (pitch_range - 1.0)).astype(np.float32)
    return swung
