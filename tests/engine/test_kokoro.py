"""The published Kokoro, a peer of the benchmarks: no audible seams between chunks."""

from itertools import pairwise

import numpy as np
import pytest

from bench.kokoro_engine import KokoroEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettings

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def kokoro(phonemizer: Phonemizer) -> Pipeline:
    pipeline = Pipeline(KokoroEngine(), phonemizer)
    pipeline.load()
    return pipeline


def test_chunks_begin_and_end_in_silence(kokoro: Pipeline, voices: VoiceCatalogue) -> None:
    text = "When the storm came in from the west, the whole harbour went quiet, and the boats pulled at their ropes."
    chunks = list(kokoro.synthesize(SynthesisRequest(text, voices.default)))
    assert len(chunks) >= 2, "the first phrase comes before the whole sentence is synthesized"
    peak = max(float(np.abs(chunk.samples).max()) for chunk in chunks)
    for before, after in pairwise(chunks):
        assert np.abs(before.samples[-120:]).max() < 0.05 * peak
        assert np.abs(after.samples[:120]).max() < 0.05 * peak


def test_no_click_at_a_split_without_a_pause(kokoro: Pipeline, voices: VoiceCatalogue) -> None:
    text = "they went on and on about the weather and the harvest and the price of wool " * 2
    chunks = list(kokoro.synthesize(SynthesisRequest(text, voices.default, VoiceSettings(speed=0.8))))
    assert len(chunks) >= 2
    for before, after in pairwise(chunks):
        step = abs(float(after.samples[0] - before.samples[-1]))
        nearby = max(np.abs(np.diff(part)).max() for part in (before.samples[-4800:], after.samples[:4800]))
        assert step <= nearby
