"""Stretching: other tempos at the same pitch, with the times of the phonemes, and without clicks between chunks."""

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.engine.protocol import Chunk, Timing
from svc.synthesis.time_stretch import stretch, stretch_samples

RATE = 24_000


def make_tone(seconds: float, pitch: float = 150.0) -> Samples:
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.3 * np.sin(2 * np.pi * pitch * time) + 0.1 * np.sin(4 * np.pi * pitch * time)).astype(np.float32)


@pytest.mark.parametrize("tempo", [0.5, 0.8, 1.25, 2.0, 4.0])
def test_the_length_changes_and_the_pitch_does_not(tempo: float) -> None:
    samples = stretch_samples(make_tone(2.0), tempo, RATE)
    assert len(samples) / RATE == pytest.approx(2.0 / tempo, abs=0.01)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    assert np.argmax(spectrum) * RATE / len(samples) == pytest.approx(150, abs=4)
    assert np.abs(np.diff(samples)).max() < 2 * np.abs(np.diff(make_tone(2.0))).max()


@pytest.mark.parametrize("tempo", [0.5, 1.7, 3.0])
def test_chunks_join_as_they_did_before_and_phonemes_keep_their_places(tempo: float) -> None:
    whole = make_tone(2.0)
    chunks = [
        Chunk(whole[:18_000], (Timing(0, 0.0, 0.25), Timing(1, 0.25, 0.75))),
        Chunk(whole[18_000:], (Timing(2, 0.75, 2.0),)),
    ]
    first, second = stretch(chunks, tempo, RATE)
    assert (first.samples[0], first.samples[-1]) == (whole[0], whole[17_999])
    assert (second.samples[0], second.samples[-1]) == (whole[18_000], whole[-1])
    ends = [timing.end for chunk in (first, second) for timing in chunk.timings]
    assert ends[1] == pytest.approx(len(first.samples) / RATE)
    assert ends[2] == pytest.approx((len(first.samples) + len(second.samples)) / RATE)
    assert ends[0] == pytest.approx(ends[1] / 3)


def test_nothing_changes_at_the_tempo_of_the_engine_and_short_pieces_stay() -> None:
    chunk = Chunk(make_tone(0.5))
    assert next(stretch([chunk], 1.0, RATE)) is chunk
    assert len(stretch_samples(make_tone(0.01), 2.0, RATE)) == 240
    assert len(stretch_samples(np.empty(0, dtype=np.float32), 2.0, RATE)) == 0
