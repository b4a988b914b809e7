"""svc-turbo 2 in batches: an item of a batch is made as it is alone, whatever it is padded to.

A stand-in in numpy is given what the graph for a GPU is. Where the graph is installed, it runs on the CPU.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.engine.batches import (
    BatchedNetworks,
    Feed,
    choose_length,
    count_at_once,
    load_batched_networks,
    measure,
)
from svc.engine.networks import OnnxNetworks
from svc.engine.phonemes import tokenize
from svc.engine.protocol import Array, Delivery, Utterance
from svc.engine.rendering import begin
from svc.engine.runtime import Runtime
from svc.engine.turbo import TurboEngine
from svc.voices.catalogue import VoiceCatalogue

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət."
STYLE = np.random.default_rng(0).standard_normal((510, 256)).astype(np.float32)
UTTERANCES = [
    Utterance(PHONEMES, STYLE),
    Utterance("ˈI.", STYLE),
    Utterance(PHONEMES[:30], STYLE, before="ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət. ", after=" ænd ðə bˈOts"),
    Utterance(PHONEMES[10:], STYLE, Delivery(speed=2.0, pitch_range=1.5, seed=3), pitch_scale=1.2),
    Utterance(PHONEMES[20:], STYLE, mask_offset=np.full(2408, 0.001, dtype=np.float32)),
]


class Session:
    """Every frame is a number that follows from its token and from the whole utterance; what is padded is noise."""

    def run(self, output_names: None, input_feed: Feed) -> list[Array]:
        self.feed = input_feed
        ids, present = input_feed["ids"], input_feed["present"]
        voice = [
            input_feed[name].reshape(len(ids), -1).sum(axis=1)
            for name in sorted(input_feed.keys() - {"ids", "present"})
        ]
        durations = np.round((ids % 5 + 2) / input_feed["speed"][:, None]) * present
        frames = durations.sum(axis=1).astype(int)
        wave = np.full((len(ids), 600 * (frames.max() + 7)), np.nan, dtype=np.float32)
        for i, count in enumerate(frames):
            tokens = np.repeat(ids[i], durations[i].astype(int)) + sum(each[i] for each in voice)
            wave[i, : 600 * count] = np.repeat(tokens, 600)
        return [durations.astype(np.int64), wave]


def speak(networks: BatchedNetworks, *utterances: Utterance) -> list[Samples]:
    spoken = networks.speak(utterances)
    return [each.take(int(each.phonemes.starts[0]), int(each.phonemes.starts[-1])) for each in spoken]


def test_batch_makes_what_each_makes_alone() -> None:
    networks = BatchedNetworks(Session())
    for utterance, samples in zip(UTTERANCES, speak(networks, *UTTERANCES), strict=True):
        (alone,) = speak(networks, utterance)
        assert len(samples) > 0
        assert np.array_equal(samples, alone)


def test_the_graph_is_given_phonemes_and_voices() -> None:
    session = Session()
    BatchedNetworks(session).speak(UTTERANCES)
    feed = session.feed
    assert feed["ids"].shape == feed["present"].shape == (5, 128)
    for i, utterance in enumerate(UTTERANCES):
        ids = tokenize(utterance)
        assert np.array_equal(feed["ids"][i : i + 1, : ids.shape[1]], ids)
        assert feed["present"][i].sum() == ids.shape[1]
    assert np.array_equal(feed["style"][0], STYLE[len(PHONEMES) - 1, 128:])
    assert np.abs(feed["style"][3] - STYLE[len(PHONEMES) - 11, 128:]).max() > 0, "the seed varies the prosody"
    assert np.array_equal(feed["timbre"][1], np.repeat(STYLE[59:60, :128], 11, axis=0)), "a short text"
    assert feed["speed"].tolist() == [1, 1, 1, 2, 1]
    assert feed["pitch_range"][3] == 1.5
    assert feed["pitch_scale"][3] == pytest.approx(1.2)
    assert feed["mask_offset"][4, 0] == pytest.approx(0.001)
    assert all(each.dtype in (np.float32, np.int64) for each in feed.values())


def test_lengths_are_few_and_the_memory_of_a_batch_is_bounded() -> None:
    lengths = {choose_length(count) for count in range(1, 513)}
    assert sorted(lengths) == [32, 64, 128, 256, 512]
    assert all(count <= choose_length(count) < max(33, 2 * count) for count in range(1, 513))
    assert [count_at_once(length) for length in sorted(lengths)] == [64, 64, 64, 32, 16]
    assert [measure(each) for each in UTTERANCES] == [128, 32, 128, 64, 64]


@pytest.mark.real
def test_the_graph_makes_in_a_batch_what_it_makes_alone(voices: VoiceCatalogue) -> None:
    networks, _ = load_batched_networks(Runtime(threads=2))
    styles = [voices.find(name).style for name in ("af_heart", "am_michael", "bf_emma")]
    utterances = [
        Utterance(PHONEMES, styles[0]),
        Utterance("jˈɛs.", styles[1]),
        Utterance(PHONEMES[20:], styles[2], before="nˈObˌɑdi spˈOk. "),
        Utterance(PHONEMES[10:], styles[0], Delivery(speed=1.5, pitch_range=1.4), pitch_scale=1.2),
    ]
    for utterance, samples in zip(utterances, speak(networks, *utterances), strict=True):
        (alone,) = speak(networks, utterance)
        assert samples.shape == alone.shape
        assert np.abs(samples - alone).max() < 1e-3 * np.abs(alone).max()


@pytest.mark.real
def test_the_graph_speaks_as_those_for_a_processor_do(voices: VoiceCatalogue) -> None:
    """These are in int8: a few durations are rounded to the next frame."""
    runtime = Runtime(threads=2)
    networks, _ = load_batched_networks(runtime)
    utterance = Utterance(PHONEMES, voices.default.style)
    (spoken,), sentence = networks.speak([utterance]), begin(OnnxNetworks(runtime), utterance)
    difference = np.diff(spoken.phonemes.starts) - np.diff(sentence.phonemes.starts)
    assert np.count_nonzero(difference) <= 6
    assert np.abs(difference).max() <= 2


@pytest.mark.real
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
    chunks = list(engine.synthesize(Utterance(("wˈɜɹd " * 100)[:510], voices.default.style)))
    assert len(chunks) > 1, "a long sentence is encoded and sent in parts"
    assert [timing.phoneme for chunk in chunks for timing in chunk.timings] == list(range(510))
