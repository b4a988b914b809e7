"""svc-turbo with its networks: windows, voices, timings, loading."""

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bench.kokoro_engine import KokoroEngine
from svc.audio.samples import Samples
from svc.engine import networks, windows
from svc.engine.protocol import NO_MASK_OFFSET, Delivery, Utterance
from svc.engine.turbo import TurboEngine
from svc.engine.windows import Window
from svc.errors import EngineUnavailable
from svc.voices.catalogue import VoiceCatalogue
from tests.engine.pitch import measure_pitch

pytestmark = pytest.mark.real

PHONEMES = "wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət, ænd ðə bˈOts pˈʊld æt ðɛɹ ɹˈOps."


@pytest.fixture(scope="module")
def engine() -> TurboEngine:
    engine = TurboEngine(threads=2)
    engine.load()
    return engine


def synthesize(engine: TurboEngine, utterance: Utterance) -> Samples:
    return np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])


@pytest.mark.parametrize("context", ["", "nˈObˌɑdi spˈOk. "])
def test_windows_make_the_samples_of_the_whole_utterance(
    engine: TurboEngine, voices: VoiceCatalogue, monkeypatch: pytest.MonkeyPatch, context: str
) -> None:
    utterance = Utterance(PHONEMES, voices.default.style, before=context)
    chunks = list(engine.synthesize(utterance))
    assert len(chunks) >= 4
    assert len(chunks[0].samples) < 0.8 * engine.sample_rate
    streamed = np.concatenate([chunk.samples for chunk in chunks])
    monkeypatch.setattr(
        "svc.engine.turbo.split_into_steps",
        lambda phonemes, starts: [Window(0, len(phonemes), int(starts[0]), int(starts[-1]))],
    )
    whole = synthesize(engine, utterance)
    assert len(whole) == len(streamed)
    assert np.abs(whole - streamed).max() < 1e-3 * np.abs(whole).max()


def test_every_phoneme_has_one_time_in_order(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    chunks = list(engine.synthesize(Utterance(PHONEMES, voices.default.style)))
    timings = [timing for chunk in chunks for timing in chunk.timings]
    seconds = sum(len(chunk.samples) for chunk in chunks) / engine.sample_rate
    assert [timing.phoneme for timing in timings] == list(range(len(PHONEMES)))
    assert all(left.end <= right.start for left, right in itertools.pairwise(timings))
    assert timings[-1].end == pytest.approx(seconds, abs=1e-6)


def test_speed_seed_and_pitch_range(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    style = voices.find("am_michael").style
    plain = synthesize(engine, Utterance(PHONEMES, style))
    fast = synthesize(engine, Utterance(PHONEMES, style, Delivery(speed=1.5)))
    assert len(fast) / len(plain) == pytest.approx(1 / 1.5, rel=0.08)
    one, same, other = (synthesize(engine, Utterance(PHONEMES, style, Delivery(seed=seed))) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert len(one) != len(other) or np.abs(one - other).max() > 0.01
    calm, lively = (
        measure_pitch(synthesize(engine, Utterance(PHONEMES, style, Delivery(pitch_range=each)))) for each in (0.6, 1.6)
    )
    assert np.std(np.log(calm)) < 0.8 * np.std(np.log(lively))
    assert np.median(calm) == pytest.approx(np.median(lively), rel=0.15)


def test_mask_offset_is_a_filter(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    plain = synthesize(engine, Utterance(PHONEMES, voices.default.style))
    quieter = NO_MASK_OFFSET.copy().reshape(2, 4, 301)
    quieter[:, [0, 3]] = -1.0  # the logarithms of the levels of pulses and noise
    changed = synthesize(engine, Utterance(PHONEMES, voices.default.style, mask_offset=quieter.reshape(-1)))
    level = np.sqrt(np.mean(changed**2) / np.mean(plain**2))
    assert level == pytest.approx(np.exp(-1.0), rel=0.05)


def test_longest_input(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    phonemes = ("wˈɜɹd " * 100)[: engine.max_phonemes]
    chunks = list(engine.synthesize(Utterance(phonemes, voices.default.style)))
    assert max(len(chunk.samples) for chunk in chunks) <= windows.LONGEST_STEP * 2 * 300
    assert sum(len(chunk.samples) for chunk in chunks) > 20 * engine.sample_rate


def test_loads_without_the_package_onnx() -> None:
    program = (
        "import sys; from svc.service import create_pipeline; from svc.settings import Settings; "
        "create_pipeline(Settings(engine='turbo')).load(); sys.exit('onnx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_threads_speak_at_once_as_each_does_alone(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    """Workers share the sessions; whatever belongs to a sentence does not. The same products give the same samples."""
    names = ("af_heart", "am_michael", "bf_emma", "bm_george")
    utterances = [Utterance(PHONEMES[5 * i :], voices.find(name).style) for i, name in enumerate(names)]
    alone = [synthesize(engine, utterance) for utterance in utterances]
    with ThreadPoolExecutor(len(utterances)) as pool:
        together = list(pool.map(lambda utterance: synthesize(engine, utterance), utterances))
    assert all(np.array_equal(*pair) for pair in zip(alone, together, strict=True))


def test_level_follows_that_of_its_teacher(engine: TurboEngine, voices: VoiceCatalogue) -> None:
    teacher = KokoroEngine()
    teacher.load()
    utterance = Utterance(PHONEMES, voices.find("bm_george").style)
    original = np.concatenate([chunk.samples for chunk in teacher.synthesize(utterance)])
    student = synthesize(engine, utterance)
    assert len(student) == pytest.approx(len(original), rel=0.05)

    def measure_levels(samples: Samples) -> Samples:
        """In 80 parts of the sentence: phonemes may last a little longer in one of the two."""
        levels = [np.log(np.sqrt((part**2).mean()) + 1e-3) for part in np.array_split(samples, 80)]
        return np.array(levels, dtype=np.float32)

    assert np.corrcoef(measure_levels(student), measure_levels(original))[0, 1] > 0.75


def test_missing_networks_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "FILES", "data/missing")
    with pytest.raises(EngineUnavailable, match=r"missing\.sha256 is missing"):
        TurboEngine(threads=1).load()
