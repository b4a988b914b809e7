"""svc-turbo 2 in batches: an item of a batch is made as it is alone, whatever it is padded to.

Stand-ins in numpy compute what the graphs for a GPU do. Where the graphs are installed, they run on the CPU.
"""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np
import pytest

from svc.engine import batches
from svc.engine.batches import BatchedNetworks, choose_length, load_batched_networks
from svc.engine.networks import Feed, Networks
from svc.engine.protocol import Array, Delivery, Samples, Utterance
from svc.engine.rendering import begin, render
from svc.engine.runtime import Runtime
from svc.engine.turbo import TurboEngine
from svc.voices.catalogue import VoiceCatalogue
from tests.engine.stand_ins import BatchedStandIns, StandIns

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət."
STYLE = np.random.default_rng(0).standard_normal((510, 256)).astype(np.float32)
UTTERANCES = [
    Utterance(PHONEMES, STYLE),
    Utterance("ˈI.", STYLE),
    Utterance(PHONEMES[:30], STYLE, before="ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət. ", after=" ænd ðə bˈOts"),
    Utterance(PHONEMES[10:], STYLE, Delivery(speed=2.0, pitch_range=1.5), pitch_scale=1.2),
    Utterance(PHONEMES[20:], STYLE, mask_offset=np.full(2408, 0.001, dtype=np.float32)),
]


def speak(networks: Networks, utterances: Sequence[Utterance], lengths: Sequence[int]) -> list[Samples]:
    """All at once: windows of so many frames, over and over again, as long as a sentence has any."""
    sentences = begin(networks, utterances)
    ends = [int(sentence.phonemes.starts[-1]) // 2 for sentence in sentences]
    starts = [int(sentence.phonemes.starts[0]) // 2 for sentence in sentences]
    parts: list[list[Samples]] = [[] for _ in sentences]
    for length in itertools.cycle(lengths):
        speaking = [i for i, start in enumerate(starts) if start < ends[i]]
        if not speaking:
            return [np.concatenate(each) for each in parts]
        windows = [(sentences[i], starts[i], min(starts[i] + length, ends[i])) for i in speaking]
        for (_, _, end), i, samples in zip(windows, speaking, render(networks, windows), strict=True):
            parts[i].append(samples)
            starts[i] = end
    raise AssertionError


@pytest.mark.parametrize("lengths", [[10_000], [1, 3], [12, 24, 48], [7, 100]])
def test_batch_makes_what_each_makes_alone(lengths: list[int]) -> None:
    networks = BatchedNetworks(BatchedStandIns().sessions)
    for utterance, samples in zip(UTTERANCES, speak(networks, UTTERANCES, lengths), strict=True):
        (alone,) = speak(StandIns(), [utterance], [10_000])
        assert samples.shape == alone.shape
        assert np.abs(samples - alone).max() <= 1e-4 * np.abs(alone).max()


def test_what_lies_around_a_window_is_not_heard() -> None:
    """Arrays are used again: around a short window lies what a long one left there."""
    networks = BatchedNetworks(BatchedStandIns().sessions)
    once, again = (speak(networks, UTTERANCES[1:3], [20])[0] for _ in range(2))
    assert np.array_equal(once, again)
    speak(networks, [Utterance(PHONEMES, 50 * STYLE, pitch_scale=3.0)] * 2, [20])
    assert np.array_equal(once, speak(networks, UTTERANCES[1:3], [20])[0])


def test_windows_of_different_places_share_a_batch() -> None:
    """A sentence's start, middle and end."""
    networks = BatchedNetworks(BatchedStandIns().sessions)
    begun = begin(networks, UTTERANCES[:1] * 3)
    whole = speak(StandIns(), UTTERANCES[:1], [10_000])[0]
    first, last = int(begun[0].phonemes.starts[0]) // 2, int(begun[0].phonemes.starts[-1]) // 2
    render(networks, [(begun[1], first, first + 40), (begun[2], first, last - 15)])
    windows = [(0, 20), (40, 60), (last - 15 - first, last - first)]
    together = render(networks, [(each, first + a, first + b) for each, (a, b) in zip(begun, windows, strict=True)])
    for samples, (a, b) in zip(together, windows, strict=True):
        assert np.abs(samples - whole[600 * a : 600 * b]).max() <= 1e-4 * np.abs(whole).max()


def test_a_failed_window_can_be_rendered_again() -> None:
    class Failing(StandIns):
        fails = True

        def _run_head(self, feed: Feed) -> list[Array]:
            if self.fails:
                raise MemoryError
            return super()._run_head(feed)

    networks = Failing()
    (sentence,) = begin(networks, UTTERANCES[:1])
    first = int(sentence.phonemes.starts[0]) // 2
    with pytest.raises(MemoryError):
        render(networks, [(sentence, first, first + 20)])
    networks.fails = False
    (samples,) = render(networks, [(sentence, first, first + 20)])
    (whole,) = speak(StandIns(), UTTERANCES[:1], [10_000])
    assert np.abs(samples - whole[: 600 * 20]).max() <= 1e-4 * np.abs(whole).max()


def test_lengths_are_few_and_little_longer_than_asked() -> None:
    lengths = {choose_length(count) for count in range(1, 600)}
    assert sorted(lengths) == [32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
    assert all(count <= choose_length(count) < max(33, 1.5 * count) for count in range(1, 600))


def test_nothing_is_run_for_nobody() -> None:
    assert BatchedNetworks({}).run("head", []) == []


installed = pytest.mark.skipif(
    not files("svc").joinpath(f"{batches.FILES}.sha256").is_file(), reason="the networks for a GPU are not installed"
)


@pytest.mark.real
@installed
def test_graphs_make_in_a_batch_what_they_make_alone(voices: VoiceCatalogue) -> None:
    networks, _ = load_batched_networks(Runtime(threads=2))
    styles = [voices.find(name).style for name in ("af_heart", "am_michael", "bf_emma")]
    utterances = [
        Utterance(PHONEMES, styles[0]),
        Utterance("jˈɛs.", styles[1]),
        Utterance(PHONEMES[20:], styles[2], before="nˈObˌɑdi spˈOk. "),
    ]
    together = speak(networks, utterances, [9, 30, 60])
    for utterance, samples in zip(utterances, together, strict=True):
        (alone,) = speak(networks, [utterance], [10_000])
        assert samples.shape == alone.shape
        assert np.abs(samples - alone).max() < 1e-3 * np.abs(alone).max()


@pytest.mark.real
@installed
def test_threads_that_share_batches_get_their_own_speech(
    voices: VoiceCatalogue, transcribe: Callable[[Samples], str]
) -> None:
    engine = TurboEngine(threads=2, batches=True)
    engine.load()
    utterances = [Utterance(PHONEMES[i:], voices.default.style, Delivery(seed=i)) for i in range(4)]

    def synthesize(utterance: Utterance) -> Samples:
        return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])

    alone = [synthesize(utterance) for utterance in utterances]
    with ThreadPoolExecutor(len(utterances)) as pool:
        together = list(pool.map(synthesize, utterances))
    for one, other in zip(alone, together, strict=True):
        assert one.shape == other.shape
        assert np.abs(one - other).max() < 1e-3 * np.abs(one).max()
    assert {"storm", "west", "whole", "quiet"} <= set(transcribe(together[0]).split())
