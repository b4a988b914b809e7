"""Refinement by gradients, with the real graph; a run of it takes a second."""

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest

from svc.audio import decode
from svc.audio.samples import Samples
from svc.cloning import gradients
from svc.cloning.gradients import GradientRefiner
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.engine import weights
from svc.errors import EngineUnavailable
from svc.voices.parameters import LARGEST, VoiceParameters

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def refiner() -> GradientRefiner:
    return GradientRefiner.load()


@pytest.fixture(scope="module")
def reference(say: Callable[..., Samples]) -> Samples:
    """Somebody's recording: a built-in voice."""
    text = "The harbour was quiet that morning, and nobody had seen the boat leave."
    spoken: Samples = np.concatenate([say(text, "bm_george"), say("Nobody asked him why.", "bm_george")])
    return spoken


@pytest.fixture(scope="module")
def clone(reference: Samples) -> VoiceParameters:
    return OnnxSpeakerEncoder.load().encode(reference, decode.RATE).parameters


def record_losses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    losses: list[float] = []
    speak = gradients._Sentence.speak

    def speak_and_record(sentence: gradients._Sentence, values: gradients.Arrays) -> tuple[float, gradients.Arrays]:
        loss, found = speak(sentence, values)
        losses.append(loss)
        return loss, found

    monkeypatch.setattr(gradients._Sentence, "speak", speak_and_record)
    return losses


def test_a_few_steps_lower_the_loss_of_sentences_that_were_not_spoken(
    refiner: GradientRefiner, clone: VoiceParameters, reference: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "_CHECK_EVERY", 16)
    losses = record_losses(monkeypatch)
    *_, best = islice(refiner.refine(clone, reference, decode.RATE), 20)
    before, after = losses[:2], losses[18:20]
    assert sum(after) < sum(before) - 0.02
    assert np.abs(best.mask_offset - clone.mask_offset).max() > 0.01
    assert np.array_equal(best.melody, clone.melody)
    assert np.array_equal(best.layer_offsets[:5], clone.layer_offsets[:5]), "those decide pronunciation"
    assert best.pitch_scale == clone.pitch_scale
    VoiceParameters.from_json(best.to_json())


def test_the_dvector_tells_people_apart(refiner: GradientRefiner, say: Callable[..., Samples]) -> None:
    def embed(text: str, voice: str) -> gradients.Array:
        compared = refiner.prepare(VoiceParameters.mean([]), say(text, voice), decode.RATE)
        found: gradients.Array = compared[0]._given["dvector"][0]
        return found

    one, same, other = (
        embed("The harbour was quiet that morning, and nobody had seen the boat leave.", "bm_george"),
        embed("Nobody in the village could remember such a warm October.", "bm_george"),
        embed("Nobody in the village could remember such a warm October.", "af_heart"),
    )
    assert np.linalg.norm(one) == pytest.approx(1.0, abs=1e-3)
    assert one @ same > one @ other + 0.2


@pytest.mark.parametrize("judge", gradients._WEIGHTS)
def test_each_judge_has_its_gradient(
    judge: str, refiner: GradientRefiner, clone: VoiceParameters, reference: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss falls by the length of a small step along the gradient; other parts of the loss weigh nothing."""
    monkeypatch.setattr(gradients, "_WEIGHTS", {name: float(name == judge) for name in gradients._WEIGHTS})
    start = gradients._read_moving(clone)

    def speak(number: int, values: gradients.Arrays) -> tuple[float, gradients.Arrays]:
        return refiner.prepare(clone, reference, decode.RATE)[number].speak(values)

    def measure(found: gradients.Arrays) -> float:
        return float(np.sqrt(sum(float(np.square(each).sum()) for each in found.values())))

    step = 0.01
    for number in range(len(refiner._sentences)):  # what is natural and clear enough, or nearly, has no gradient there
        loss, found = speak(number, start)
        length = measure(found)
        if abs(loss) > 2 * step * length > 0:
            break
    moved, _ = speak(number, {name: start[name] - step / length * each for name, each in found.items()})
    assert moved - loss == pytest.approx(-step * length, rel=0.3)


class FakeGraph:
    """Its loss changes by `change` in every run, and nothing has a gradient."""

    def __init__(self, change: float) -> None:
        self._change = change
        self.runs = 0

    def run(self, names: list[str], inputs: gradients.Arrays) -> list[object]:
        self.runs += 1
        found = [np.zeros_like(inputs[name.removesuffix(" gradient")]) for name in names[2:]]
        return [self._change * self.runs, np.zeros((298, 80), np.float32), *found]


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (1.0, gradients._PATIENCE * gradients._CHECK_EVERY + (gradients._PATIENCE + 1) * gradients._HELD_OUT),
        (-1.0, gradients.RUNS),
    ],
)
def test_it_stops_after_two_checks_without_gain(
    refiner: GradientRefiner, clone: VoiceParameters, reference: Samples, change: float, runs: int
) -> None:
    graph = FakeGraph(change)
    descent = GradientRefiner(graph, refiner._targets, refiner._sentences)
    found = list(descent.refine(clone, reference, decode.RATE))
    assert graph.runs == len(found) == runs
    assert np.array_equal(found[-1].mask_offset, clone.mask_offset)


def test_parameters_stay_within_bounds_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "_RATES", {"mask": 100.0})
    descent = gradients._Descent({"mask": np.zeros((1, 3), np.float32)})
    descent.step({"mask": np.array([[1.0, -1.0, np.nan]], np.float32)})
    assert descent.values["mask"].tolist() == [[-LARGEST, LARGEST, 0.0]]


@pytest.mark.parametrize("damaged", ["turbo-batch-speech", "voice-encoder", "refinement.onnx", "refinement.npz"])
def test_a_damaged_file_is_noticed(damaged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that only holds weights of the graph."""
    verify = weights.verify_sha256

    def find_damage(content: bytes, sha256: str, source: str, *more: str) -> bytes:
        return verify(b"damaged" if damaged in source else content, sha256, source, *more)

    monkeypatch.setattr(weights, "verify_sha256", find_damage)
    with pytest.raises(EngineUnavailable, match=damaged):
        GradientRefiner.load()
