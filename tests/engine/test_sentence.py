"""svc-turbo from prosody to samples: windows make what the whole sentence makes, whatever their lengths.

The networks are stand-ins in numpy.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.engine.networks import Feed
from svc.engine.protocol import Array, Delivery, Utterance
from svc.engine.rendering import begin, render, render_beside
from svc.engine.sentence import accumulate_phase, expand, scale_pitch_range, scale_summary, summarise
from tests.engine.stand_ins import StandIns

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət."
STYLE = np.random.default_rng(0).standard_normal((510, 256)).astype(np.float32)
REFERENCE = Path(__file__).with_name("acoustic_reference.npz")


def synthesize(utterance: Utterance, lengths: Sequence[int], pool: Executor | None = None) -> Samples:
    """The audio in windows of so many frames, over and over again; with a pool, two windows at the same time."""
    networks = StandIns()
    sentence = begin(networks, utterance)
    start, last = (int(each) for each in sentence.phonemes.starts[[0, -1]] // 2)
    ends = list(
        itertools.takewhile(lambda end: end < last, itertools.accumulate(itertools.cycle(lengths), initial=start))
    )
    for end, next_end in itertools.pairwise([*ends[1:], last, last]):
        if pool:
            render_beside(networks, sentence, end, next_end, pool)
        else:
            render(networks, sentence, end)
    return sentence.take(start, last)


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


def test_working_on_two_windows_at_a_time_makes_the_same() -> None:
    utterance = Utterance(PHONEMES, STYLE)
    with ThreadPoolExecutor(1) as pool:
        assert np.array_equal(synthesize(utterance, [12, 24, 48], pool), synthesize(utterance, [12, 24, 48]))


def test_context_is_rendered_as_in_the_whole_sentence() -> None:
    """The networks do not begin at the first frame of the context, and nothing of that is heard."""
    context = "ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət, ænd ðə bˈOts pˈʊld æt ðɛɹ ɹˈOps. "
    networks = StandIns(phase=False)
    utterances = [Utterance(PHONEMES, STYLE, before=context), Utterance(context + PHONEMES, STYLE)]
    part, whole = (begin(networks, utterance) for utterance in utterances)
    first, last = (int(each) for each in part.phonemes.starts[[0, -1]] // 2)
    assert first > 100, "else there is nothing to leave out"
    for sentence in (part, whole):
        render(networks, sentence, last)
    heard, expected = part.take(first, last), whole.take(first, last)
    assert np.abs(heard - expected).max() < 1e-4 * np.abs(expected).max()


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
        def run(self, graph: str, feed: Feed) -> Sequence[Array]:
            feeds[graph] = feed
            return super().run(graph, feed)

    begin(Recorder(), Utterance("jˈɛs.", STYLE))
    assert np.array_equal(feeds["conditioning"]["timbre"][0], np.repeat(STYLE[59:60, :128], 11, axis=0))
    assert np.array_equal(feeds["prosody"]["style"][0], STYLE[4, 128:])
    begin(Recorder(), Utterance(PHONEMES, STYLE))
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
