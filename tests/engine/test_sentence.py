"""svc-turbo 2 from prosody to samples: windows make what the whole sentence makes, whatever their lengths.

The networks are stand-ins in numpy that look as far to either side as the real ones, so that a frame too few or too
many is noticed.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from svc.engine.networks import CURVES, DECODER, HEAD, TEXT, Feed, StreamShape
from svc.engine.phonemes import SAMPLES_PER_FRAME
from svc.engine.protocol import Array, Delivery, Samples, Utterance
from svc.engine.rendering import begin, render
from svc.engine.sentence import Sentence, accumulate_phase, expand, scale_pitch_range, scale_summary, summarise

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət."
STYLE = np.random.default_rng(0).standard_normal((510, 256)).astype(np.float32)
REFERENCE = Path(__file__).with_name("acoustic_reference.npz")


class StandIns:
    """Networks that are sums over as many neighbours as the real ones see."""

    def __init__(self, *, phase: bool = True) -> None:
        self._phase = phase
        """Whether phase and position, which count from where rendering began, are heard."""

    def run(self, graph: str, feeds: Sequence[Feed]) -> list[list[Array]]:
        return [getattr(self, f"_run_{graph}")(feed) for feed in feeds]

    def _run_prosody(self, feed: Feed) -> list[Array]:
        ids = feed["ids"]
        durations = np.maximum(1, np.round((ids % 5 + 2) / feed["speed"]))
        text = np.repeat(np.sin(ids + feed["style"][:, :1])[..., None], CURVES.width, axis=2).astype(np.float32)
        summary = np.array([[0.5, 0.1, 0.2, 1.0, 0.5]], dtype=np.float32)
        return [durations.astype(np.float32), text, np.ones((1, 6, 2, CURVES.width), dtype=np.float32), summary]

    def _run_conditioning(self, feed: Feed) -> list[Array]:
        film = np.full((1, 6, 2, HEAD.width), 1 + feed["summary"].sum() + feed["timbre"].mean(), dtype=np.float32)
        return [film, film + feed["vocoder_embedding"].sum()]

    def _run_curves(self, feed: Feed) -> list[Array]:
        x = feed["curve_text"] + (feed["place"] / feed["duration"])[..., None].astype(np.float32)
        made, state = self._convolve(CURVES, x, feed)
        curve = np.repeat(made[:, :, 0], 2, axis=1)
        return [150 + 40 * np.tanh(curve), curve, state]

    def _run_text(self, feed: Feed) -> list[Array]:
        x = np.repeat(np.cos(feed["ids"])[..., None], TEXT.width, axis=2).astype(np.float32)
        return list(self._convolve(TEXT, x, feed))

    def _run_decoder(self, feed: Feed) -> list[Array]:
        x = feed["text"][:, :, :1] + (feed["f0"] + feed["energy"]).reshape(1, -1, 2).sum(axis=2, keepdims=True) / 100
        x = np.repeat(x * feed["film"][0, 0, 0, 0], DECODER.width, axis=2).astype(np.float32)
        made, state = self._convolve(DECODER, x, feed)
        return [np.repeat(made, 2, axis=1), state]

    def _run_head(self, feed: Feed) -> list[Array]:
        count = feed["features"].shape[1]
        x = feed["features"] * feed["film"][0, 0, 0, 0]
        x = x + self._phase * np.cos(2 * np.pi * feed["phase"][:, -count:, None])
        made, state = self._convolve(HEAD, x.astype(np.float32), feed)
        hidden = np.concatenate([feed["hidden"], made], axis=1)
        ready = hidden.shape[1]
        sources = hidden[0, :, 0] + feed["f0"][0, :ready] / 100
        sources = sources + self._phase * ((feed["position"] + np.arange(ready)) % 7)
        padded = np.pad(sources + feed["mask_offset"].sum(), 2)
        frames = sum(padded[i : i + ready] for i in range(5))
        return [np.repeat(frames, SAMPLES_PER_FRAME)[None].astype(np.float32), hidden[:, -4:], state]

    def _convolve(self, shape: StreamShape, x: Array, feed: Feed) -> tuple[Array, Array]:
        states = []
        for block in range(shape.blocks):
            x = np.concatenate([feed["state"][:, block], x, feed["tail"]], axis=1)
            states.append(x[:, -2 * shape.reach :])
            count = x.shape[1] - 2 * shape.reach
            parts = [(i + 1) * x[:, i : i + count] for i in range(shape.taps)]
            x = np.sum(parts, axis=0) / sum(range(shape.taps + 1)) + np.float32(0.1)
        return x.astype(np.float32), np.stack(states, axis=1)


def synthesize(utterance: Utterance, lengths: Sequence[int]) -> Samples:
    """The audio in windows of so many frames, over and over again."""
    networks = StandIns()
    (sentence,) = begin(networks, [utterance])
    start, last = sentence.phonemes.starts[[0, -1]] // 2
    samples = []
    for length in itertools.cycle(lengths):
        end = min(start + length, last)
        samples += render(networks, [(sentence, start, end)])
        start = end
        if start == last:
            return np.concatenate(samples)
    raise AssertionError


@pytest.mark.parametrize("lengths", [[1], [3, 1], [12, 24, 48], [7, 100]])
@pytest.mark.parametrize(
    "utterance",
    [
        Utterance(PHONEMES, STYLE),
        Utterance("ˈI.", STYLE),
        Utterance(PHONEMES, STYLE, before="ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət. ", after=" ænd ðə bˈOts"),
        Utterance(PHONEMES, STYLE, Delivery(speed=2.0, pitch_range=1.5)),
    ],
    ids=["sentence", "word", "context", "delivery"],
)
def test_windows_make_the_samples_of_the_whole(utterance: Utterance, lengths: list[int]) -> None:
    whole, windows = synthesize(utterance, [10_000]), synthesize(utterance, lengths)
    assert whole.shape == windows.shape
    assert np.abs(whole - windows).max() <= 1e-4 * np.abs(whole).max()


def test_context_is_rendered_as_in_the_whole_sentence() -> None:
    """The networks do not begin at the first frame of the context, and nothing of that is heard."""
    context = "ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət, ænd ðə bˈOts pˈʊld æt ðɛɹ ɹˈOps. "
    networks = StandIns(phase=False)
    utterances = [Utterance(PHONEMES, STYLE, before=context), Utterance(context + PHONEMES, STYLE)]
    part, whole = begin(networks, utterances)
    first, last = part.phonemes.starts[[0, -1]] // 2
    assert first > 100, "else there is nothing to leave out"
    (heard,), (expected,) = (render(networks, [(sentence, first, last)]) for sentence in (part, whole))
    assert np.abs(heard - expected).max() < 1e-4 * np.abs(expected).max()


def test_several_sentences_at_once_make_what_each_makes_alone() -> None:
    utterances = [Utterance(PHONEMES, STYLE), Utterance(PHONEMES[20:], STYLE, pitch_scale=1.2)]
    networks = StandIns()

    def speak(sentences: list[Sentence]) -> list[Samples]:
        starts = [int(sentence.phonemes.starts[0]) // 2 for sentence in sentences]
        windows = [(sentence, start, start + 30) for sentence, start in zip(sentences, starts, strict=True)]
        return render(networks, windows)

    together = speak(begin(networks, utterances))
    alone = [speak(begin(networks, [utterance]))[0] for utterance in utterances]
    assert all(np.array_equal(*pair) for pair in zip(together, alone, strict=True))


@pytest.mark.parametrize(
    "changed",
    [
        Utterance(PHONEMES, STYLE, mask_offset=np.full(2408, 0.1, dtype=np.float32)),
        Utterance(PHONEMES, STYLE, vocoder_embedding=np.full(256, 0.1, dtype=np.float32)),
        Utterance(PHONEMES, STYLE, layer_offsets=np.full((11, 128), 0.1, dtype=np.float32)),
        Utterance(PHONEMES, STYLE, pitch_scale=1.2),
        Utterance(PHONEMES, STYLE, Delivery(seed=7)),
        Utterance(PHONEMES, STYLE, Delivery(pitch_range=1.4)),
    ],
    ids=["mask offset", "vocoder embedding", "layer offsets", "pitch scale", "seed", "pitch range"],
)
def test_parameters_of_voice_and_delivery_arrive(changed: Utterance) -> None:
    plain, other = synthesize(Utterance(PHONEMES, STYLE), [40]), synthesize(changed, [40])
    assert plain.shape == other.shape
    assert np.abs(plain - other).max() > 1e-3


def test_short_texts_have_the_timbre_of_longer_ones_and_their_own_prosody() -> None:
    feeds: dict[str, Feed] = {}

    class Recorder(StandIns):
        def run(self, graph: str, feeds_: Sequence[Feed]) -> list[list[Array]]:
            feeds[graph] = feeds_[0]
            return super().run(graph, feeds_)

    begin(Recorder(), [Utterance("jˈɛs.", STYLE)])
    assert np.array_equal(feeds["conditioning"]["timbre"][0], np.repeat(STYLE[59:60, :128], 11, axis=0))
    assert np.array_equal(feeds["prosody"]["style"][0], STYLE[4, 128:])
    begin(Recorder(), [Utterance(PHONEMES, STYLE)])
    assert np.array_equal(feeds["conditioning"]["timbre"][0, 3], STYLE[len(PHONEMES) - 1, :128])


def test_expansion_summary_and_phase_are_those_of_the_training() -> None:
    """The file is written by training/acoustic/record_reference.py."""
    with np.load(REFERENCE) as known:
        token, place = expand(known["durations"][0])
        assert np.array_equal(token, known["token"][0])
        assert np.array_equal(place, known["place"][0])
        scaled = scale_summary(known["curves"], float(known["pitch_scale"]), 1.0)
        summary = summarise(known["ids"][0], known["durations"][0], scaled)
        assert np.abs(summary - known["summary"]).max() < 1e-5
        first, cycles = accumulate_phase(known["f0"][:, :50], 0.0)
        second, _ = accumulate_phase(known["f0"][:, 50:], cycles)
        phase = np.concatenate([first, second], axis=1)
        assert np.abs(phase - known["phase"]).max() < 1e-5


def test_pitch_range_keeps_the_centre_and_unvoiced_frames() -> None:
    f0 = np.array([[0.0, 100.0, 200.0, 400.0, 1.0]], dtype=np.float32)
    wide, narrow = scale_pitch_range(f0, 200.0, 1.5), scale_pitch_range(f0, 200.0, 0.5)
    assert wide[0, 2] == narrow[0, 2] == 200.0
    assert wide[0, 1] < 100 < narrow[0, 1]
    assert narrow[0, 3] < 400 < wide[0, 3]
    assert wide[0, 0] == 0
    assert wide[0, 4] < 10
    assert scale_pitch_range(f0, 200.0, 1.0) is f0
