"""Refinement by gradients: the parameters of a voice are moved, step by step, to be more similar to a person.

A graph in ONNX Runtime speaks a sentence with svc-turbo's networks, listens to it with the speaker encoder, a
d-vector and a small judge (is it natural? is it clear?), and gives the loss with its gradients to the parameters
(training/speaker_encoder/export_refinement.py makes it). Here is the descent: which sentence, how far, and
when to stop. Each step speaks another sentence: a few would be learned by heart.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from svc.audio.equalizer import BANDS, SpectralEnvelope, matching_gains, measure_envelope
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import NETWORK, NETWORK_SHA256, RATE, measure_log_mel, prepare_clip
from svc.engine.batches import GRAPH
from svc.engine.networks import FILES, GRAPHS
from svc.engine.runtime import Runtime
from svc.engine.weights import read_packaged_model, read_packaged_models
from svc.voices.parameters import LARGEST, LAYERS, VoiceParameters

_GRAPH, _GRAPH_SHA256 = "data/refinement.onnx", "358043028d42a3a3ca530a366a9a94176ce4053aa746467d57ffd45345ba9dc8"
_TARGETS, _TARGETS_SHA256 = (
    "data/refinement-targets.onnx",
    "53a6a84a4f54bb7e74d8f668bed11fe37484eb77f6677cba3d1fcf6b8016f3ec",
)
_SENTENCES, _SENTENCES_SHA256 = (
    "data/refinement.npz",
    "0f7a2286116a7be895326a9261b8e77b5aabd435d2b4223e5c6f4449efc47723",
)

Array = npt.NDArray[np.float32]
Arrays = dict[str, Array]

STEPS = 48
_CHECK_EVERY = 16
_PATIENCE = 2  # checks in a row without a gain: the first steps may do harm that the next ones make good
_HELD_OUT = 2  # sentences that the descent does not speak: they decide which parameters are kept
RUNS = STEPS + (STEPS // _CHECK_EVERY + 1) * _HELD_OUT
"""Of the graph, at most."""

# Timbre and layers also decide how sounds are pronounced: they move slowly.
_RATES = {"timbre": 0.006, "layers": 0.006, "grain": 0.02, "mask": 0.06}
_PULLS = {"timbre": 0.02, "layers": 0.004, "grain": 0.02, "mask": 0.0004}  # towards the start
_DECAYS = (0.9, 0.95)  # of Adam's means of the gradients and of their squares
# Of the similarities that the encoder and the d-vector hear, of what is missing to natural speech, and of what is less
# clear than that sentence in clones before refinement. In the graph's order.
_WEIGHTS = {"eres2net": 1.0, "campplus": 0.6, "dvector": 1.0, "naturalness": 0.5, "phonemes": 1.0}

_OWN_LAYERS = 6
_MEAN_PITCH = 179  # in the summary of a sentence
_FRAME_SECONDS = 300 / 24_000
_MEL_BANDS = 80


class VoiceRefiner(Protocol):
    """Called from one thread at a time."""

    def refine(self, parameters: VoiceParameters, samples: Samples, rate: int) -> Iterator[VoiceParameters]:
        """Makes a voice more similar to the person in a recording: the best parameters so far, at most `RUNS` times."""


class GradientRefiner:
    def __init__(self, graph: ort.InferenceSession, targets: ort.InferenceSession, sentences: list[Arrays]) -> None:
        self._graph = graph
        self._targets = targets
        self._sentences = sentences

    @classmethod
    def load(cls, threads: int = 2) -> Self:
        """Raises `EngineUnavailable` when a file is damaged, also one of those that the graphs' weights lie in."""
        read_packaged_models(FILES, [*GRAPHS, GRAPH])
        read_packaged_model(NETWORK, NETWORK_SHA256)
        read_packaged_model(_GRAPH, _GRAPH_SHA256)
        read_packaged_model(_TARGETS, _TARGETS_SHA256)
        # By their paths: the weights are looked for in the same folder.
        graph, targets = (
            # Weights are made of int8 and half precision in every run: half as slow again, for half of the memory.
            Runtime(threads).create_session(Path(str(files("svc").joinpath(name))), keep_half_precision=True)
            for name in (_GRAPH, _TARGETS)
        )
        stored = np.load(BytesIO(read_packaged_model(_SENTENCES, _SENTENCES_SHA256)))
        kinds = {name: np.int64 if stored[name].dtype.kind == "i" else np.float32 for name in stored.files}
        arrays = {name: stored[name].astype(kind) for name, kind in kinds.items()}
        clear = arrays.pop("clear")
        sentences = [
            {name: each[i : i + 1] for name, each in arrays.items()} | {"clear": clear[i, ...]}
            for i in range(len(clear))
        ]
        return cls(graph, targets, sentences)

    def refine(self, parameters: VoiceParameters, samples: Samples, rate: int) -> Iterator[VoiceParameters]:
        sentences = self.prepare(parameters, samples, rate)
        spoken, held_out = sentences[:-_HELD_OUT], sentences[-_HELD_OUT:]
        descent = _Descent(_read_moving(parameters))
        best, least_loss, failed_checks = parameters, np.inf, 0
        for step in range(STEPS + 1):
            if step % _CHECK_EVERY == 0:
                loss = 0.0
                for sentence in held_out[1:]:
                    loss += sentence.speak(descent.values)[0]
                    yield best
                loss += held_out[0].speak(descent.values)[0]
                if loss < least_loss:
                    best, least_loss, failed_checks = _write_moving(parameters, descent.values), loss, 0
                else:
                    failed_checks += 1
                yield best
                if failed_checks == _PATIENCE:
                    return
            if step < STEPS:
                descent.step(spoken[step % len(spoken)].speak(descent.values)[1])
                yield best

    def prepare(self, parameters: VoiceParameters, samples: Samples, rate: int) -> list["_Sentence"]:
        """All sentences, to be compared with the recording."""
        clip = prepare_clip(samples, rate)
        mel = measure_log_mel(clip, RATE)
        names = ["eres2net", "campplus", "dvector"]
        person = dict(zip(names, self._targets.run(names, {"mel": mel[None], "wave": clip[None]}), strict=True))
        raised = [_raise_pitch(each, parameters.pitch_scale) for each in self._sentences]
        envelope, gains = measure_envelope(mel), parameters.equalizer_gains
        return [_Sentence(self._graph, {**sentence, **person}, envelope, gains) for sentence in raised]


class _Sentence:
    """A sentence of the graph, with the equalizer gains that the voice needed when it last spoke it."""

    def __init__(
        self, graph: ort.InferenceSession, given: Arrays, person: SpectralEnvelope, gains: SpectralEnvelope
    ) -> None:
        self._graph = graph
        self._given = given
        self._person = person
        self._gains = gains

    def speak(self, values: Arrays) -> tuple[float, Arrays]:
        """The loss with these parameters, and its gradients."""
        names = ["loss", "mel", *(f"{name} gradient" for name in values)]
        weights = np.array(list(_WEIGHTS.values()), dtype=np.float32)
        inputs: dict[str, Any] = {**self._given, **values, "gains": _spread(self._gains), "weights": weights}
        loss, mel, *gradients = self._graph.run(names, inputs)
        self._gains = matching_gains(self._person, measure_envelope(mel))
        return float(loss), dict(zip(values, gradients, strict=True))


class _Descent:
    """Adam: half of the steps at the full rate, then down to nothing."""

    def __init__(self, start: Arrays) -> None:
        self._start = start
        self.values = start
        self._means = {name: np.zeros_like(each) for name, each in start.items()}
        self._squares = {name: np.zeros_like(each) for name, each in start.items()}
        self._done = 0

    def step(self, gradients: Arrays) -> None:
        schedule = min(1.0, 2 * (1 - self._done / STEPS)) * min(1.0, (self._done + 1) / 2)
        self._done += 1
        moved = {}
        for name, gradient in gradients.items():
            pulled = np.nan_to_num(gradient) + 2 * _PULLS[name] * (self.values[name] - self._start[name])
            self._means[name] += (1 - _DECAYS[0]) * (pulled - self._means[name])
            self._squares[name] += (1 - _DECAYS[1]) * (np.square(pulled) - self._squares[name])
            mean, square = (
                each / (1 - decay**self._done)
                for each, decay in zip((self._means[name], self._squares[name]), _DECAYS, strict=True)
            )
            moved[name] = self.values[name] - np.float32(schedule * _RATES[name]) * mean / (np.sqrt(square) + 1e-8)
        self.values = {name: np.clip(each, -LARGEST, LARGEST).astype(np.float32) for name, each in moved.items()}


def _raise_pitch(sentence: Arrays, scale: float) -> Arrays:
    """The sentence of the mean voice at the pitch of another one."""
    f0, summary = sentence["f0"] * np.float32(scale), sentence["summary"].copy()
    summary[:, _MEAN_PITCH] += np.log(scale)
    phase = np.cumsum(f0 * _FRAME_SECONDS, axis=1, dtype=np.float64) % 1.0
    return {**sentence, "f0": f0, "summary": summary, "phase": phase.astype(np.float32)}


def _read_moving(parameters: VoiceParameters) -> Arrays:
    """The parameters that have gradients, as the graph calls them."""
    found = {
        "timbre": parameters.timbre,
        "layers": parameters.layer_offsets[LAYERS - _OWN_LAYERS :],
        "grain": parameters.vocoder_embedding,
        "mask": parameters.mask_offset,
    }
    return {name: each[None].astype(np.float32) for name, each in found.items()}


def _write_moving(parameters: VoiceParameters, values: Arrays) -> VoiceParameters:
    layer_offsets = parameters.layer_offsets.copy()
    layer_offsets[LAYERS - _OWN_LAYERS :] = values["layers"][0]
    return replace(
        parameters,
        timbre=values["timbre"][0],
        layer_offsets=layer_offsets,
        vocoder_embedding=values["grain"][0],
        mask_offset=values["mask"][0],
    )


def _spread(gains: SpectralEnvelope) -> Array:
    """The gains of the equalizer's 20 bands in the 80 mel bands."""
    place = (np.arange(_MEL_BANDS) + 0.5) * BANDS / _MEL_BANDS - 0.5
    return np.interp(place, np.arange(BANDS), gains).astype(np.float32)
