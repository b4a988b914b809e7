"""Loudness as ITU-R BS.1770-5 defines it: of mono speech, integrated over the parts that are not pauses."""

import math

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples

SILENCE_LUFS = -70.0
"""The absolute gate: quieter blocks do not count, and quieter audio has this loudness."""

_BLOCK_SECONDS, _STEPS_PER_BLOCK = 0.4, 4
_RELATIVE_GATE = -10.0  # LU below the mean of what the absolute gate leaves
_OFFSET = -0.691  # LUFS: with it a sine of 997 Hz at full scale has -3.01

# The K weighting: a shelf for the head, and a high pass. The standard has the coefficients for 48 kHz only; these are
# the analogue filters behind them: frequency in Hz, quality, and gain in dB.
_SHELF = 1681.974450955533, 0.7071752369554196, 3.999843853973347
_HIGH_PASS = 38.13547087602444, 0.5003270373238773
_SHELF_EXPONENT = 0.4996667741545416


def measure_loudness(samples: Samples, rate: int) -> float:
    """In LUFS. Audio shorter than a block counts as one."""
    weighted = _weight(samples, rate)
    step = round(rate * _BLOCK_SECONDS / _STEPS_PER_BLOCK)
    count = len(weighted) // step
    if count < _STEPS_PER_BLOCK:
        blocks = np.square(weighted).mean(keepdims=True) if len(weighted) else np.zeros(1)
    else:
        powers = np.square(weighted[: count * step]).reshape(count, step).mean(axis=1)
        blocks = np.convolve(powers, np.full(_STEPS_PER_BLOCK, 1 / _STEPS_PER_BLOCK), "valid")
    audible = blocks[blocks > _to_power(SILENCE_LUFS)]
    if not audible.size:
        return SILENCE_LUFS
    speech = audible[audible > _to_power(_to_lufs(audible.mean()) + _RELATIVE_GATE)]
    return _to_lufs(speech.mean())


def _to_lufs(power: float) -> float:
    return _OFFSET + 10 * math.log10(power)


def _to_power(lufs: float) -> float:
    return float(10 ** ((lufs - _OFFSET) / 10))


def _weight(samples: Samples, rate: int) -> npt.NDArray[np.float64]:
    """The samples after the K weighting, filtered in one piece by their spectrum."""
    size = 1 << (len(samples) + rate // 2).bit_length()  # the filters have died away after half a second
    delay = np.exp(-2j * np.pi * np.fft.rfftfreq(size))
    response = np.ones(len(delay), dtype=np.complex128)
    for numerator, denominator in (_design_shelf(rate), _design_high_pass(rate)):
        response *= np.polyval(numerator[::-1], delay) / np.polyval(denominator[::-1], delay)
    return np.fft.irfft(np.fft.rfft(samples, size) * response, size)[: len(samples)]


def _design_shelf(rate: int) -> tuple[list[float], list[float]]:
    """The coefficients of the numerator and of the denominator."""
    frequency, quality, decibels = _SHELF
    k = math.tan(math.pi * frequency / rate)
    high = 10 ** (decibels / 20)
    band = high**_SHELF_EXPONENT
    return (
        [high + band * k / quality + k * k, 2 * (k * k - high), high - band * k / quality + k * k],
        [1 + k / quality + k * k, 2 * (k * k - 1), 1 - k / quality + k * k],
    )


def _design_high_pass(rate: int) -> tuple[list[float], list[float]]:
    frequency, quality = _HIGH_PASS
    k = math.tan(math.pi * frequency / rate)
    norm = 1 + k / quality + k * k
    return [1.0, -2.0, 1.0], [1.0, 2 * (k * k - 1) / norm, (1 - k / quality + k * k) / norm]
