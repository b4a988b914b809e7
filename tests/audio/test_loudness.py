"""Loudness as ITU-R BS.1770 defines it: its filters, its gates, and known signals."""

import numpy as np
import pytest

from svc.audio.loudness import SILENCE_LUFS, _design_high_pass, _design_shelf, measure_loudness
from svc.audio.samples import Samples

RATES = [16_000, 24_000, 44_100, 48_000]


def sine(decibels: float, seconds: float, rate: int = 24_000, hertz: float = 997.0) -> Samples:
    phase = 2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate
    return (10 ** (decibels / 20) * np.sin(phase)).astype(np.float32)


def test_at_48_khz_the_filters_are_those_of_the_standard() -> None:
    for (numerator, denominator), expected in (
        (
            _design_shelf(48_000),
            ([1.53512485958697, -2.69169618940638, 1.19839281085285], [-1.69065929318241, 0.73248077421585]),
        ),
        (_design_high_pass(48_000), ([1.0, -2.0, 1.0], [-1.99004745483398, 0.99007225036621])),
    ):
        scale = denominator[0]
        assert np.allclose(np.array(numerator) / scale, expected[0], atol=1e-8)
        assert np.allclose(np.array(denominator[1:]) / scale, expected[1], atol=1e-8)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("decibels", [0, -20, -40])
def test_a_sine_of_997_hz(rate: int, decibels: float) -> None:
    assert measure_loudness(sine(decibels, 3, rate), rate) == pytest.approx(decibels - 3.01, abs=0.06)


@pytest.mark.parametrize(("hertz", "expected"), [(50.0, -4.7), (100.0, -1.9), (4000.0, 3.2)])
def test_low_tones_count_less_and_high_ones_more(hertz: float, expected: float) -> None:
    """Relative to 997 Hz, from the response that the standard draws."""
    difference = measure_loudness(sine(-20, 3, hertz=hertz), 24_000) - measure_loudness(sine(-20, 3), 24_000)
    assert difference == pytest.approx(expected, abs=0.4)


def test_pauses_and_quiet_parts_do_not_count() -> None:
    """Cases 3 and 4 of EBU Tech 3341, of one channel."""
    parts = [sine(-72, 10), sine(-36, 10), sine(-23, 60), sine(-36, 10), sine(-72, 10)]
    assert measure_loudness(np.concatenate(parts[1:4]), 24_000) == pytest.approx(-26.01, abs=0.1)
    assert measure_loudness(np.concatenate(parts), 24_000) == pytest.approx(-26.01, abs=0.1)


def test_silence_has_the_loudness_of_the_gate() -> None:
    for samples in (np.zeros(0, np.float32), np.zeros(100, np.float32), np.zeros(48_000, np.float32)):
        assert measure_loudness(samples, 24_000) == SILENCE_LUFS


def test_audio_shorter_than_a_block_is_measured() -> None:
    assert measure_loudness(sine(-20, 0.2), 24_000) == pytest.approx(-23.01, abs=0.3)
