"""The colour of a voice: how much of its sound is in each band, from the lowest to the highest.

The engine gives most voices the colours of those it was made from. What is missing is put right afterwards, by a filter
that whatever the voice says passes through.
"""

import numpy as np
import numpy.typing as npt

from svc.engine.protocol import Samples

BANDS = 20
"""Each as wide as the others to the ear, from 20 Hz to 8 kHz."""
LARGEST = 8.0
"""In dB, of a change: more costs naturalness (training/speaker_encoder/EXPERIMENTS.md)."""

SpectralEnvelope = npt.NDArray[np.float32]
"""[20], in dB."""

FLAT = np.zeros(BANDS, dtype=np.float32)

_TAPS = 512
_GRID = 4096
# Fading above 3.7 kHz: voices are as much like the person as with all of it, and a little more natural.
_SHARE = np.interp(np.arange(BANDS), [14, BANDS], [1.0, 0.0])
_CUT_OFF = -25.0  # dB: a band in which a recording has that much less was lost on the way, not spoken so softly


def _mel(hertz: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    mel: npt.NDArray[np.float64] = np.log1p(hertz / 700.0)
    return mel


_LOWEST, _HIGHEST = _mel(np.array([20.0, 8_000.0]))
_CENTRES = _LOWEST + (_HIGHEST - _LOWEST) * (np.arange(BANDS) + 0.5) / BANDS


def measure_envelope(log_mel: npt.NDArray[np.float32]) -> SpectralEnvelope:
    """Of what is said in a clip, noise left out, given the log power in four narrower bands for each. [frames, 80]

    Loud sounds count for most: it is the mean of the power.
    """
    power, loudness = np.exp(log_mel), log_mel.mean(axis=1)
    speech, noise = power.mean(axis=0), power[loudness <= np.quantile(loudness, 0.1)].mean(axis=0)
    clean = np.log(np.maximum(speech - noise, 0.05 * speech))
    decibels: SpectralEnvelope = (10 / np.log(10) * clean.reshape(BANDS, -1).mean(axis=1)).astype(np.float32)
    return decibels


def matching_gains(person: SpectralEnvelope, voice: SpectralEnvelope) -> SpectralEnvelope:
    """What makes the one of the other, with the voice as loud as it was."""
    off = person - voice
    off -= np.median(off)
    off = np.where(off > _CUT_OFF, np.clip(_SHARE * off, -LARGEST, LARGEST), 0.0)
    louder = _power(voice + off) / _power(voice)
    level: SpectralEnvelope = (off - 10 * np.log10(louder)).astype(np.float32)
    return level


def _power(decibels: SpectralEnvelope) -> float:
    """The features let low sounds seem faint (pre-emphasis); by their power most of speech is there."""
    hertz = 700.0 * np.expm1(_CENTRES)
    emphasis = np.abs(1 - 0.97 * np.exp(-2j * np.pi * hertz / 16_000)) ** 2
    return float(np.sum(10 ** (decibels / 10) / emphasis))


class Equalizer:
    """Colours sound as it comes, in pieces of any length, and holds none of it back."""

    def __init__(self, matching_gains: SpectralEnvelope, rate: int) -> None:
        self._taps = _minimum_phase(_gains(matching_gains, rate))
        self._before = np.zeros(_TAPS - 1, dtype=np.float32)

    def __call__(self, samples: Samples) -> Samples:
        heard = np.concatenate([self._before, samples])
        self._before = heard[len(heard) - _TAPS + 1 :]
        size = 1 << (len(heard) - 1).bit_length()
        spectrum = np.fft.rfft(heard, size) * np.fft.rfft(self._taps, size)
        equalizer_gains: Samples = np.fft.irfft(spectrum, size)[_TAPS - 1 : len(heard)].astype(np.float32)
        return equalizer_gains


def _gains(matching_gains: SpectralEnvelope, rate: int) -> npt.NDArray[np.float64]:
    """Factors on an even grid of frequencies up to half the rate. [2049]"""

    places = _mel(np.fft.rfftfreq(_GRID, 1 / rate))
    factors: npt.NDArray[np.float64] = 10 ** (np.interp(places, _CENTRES, matching_gains.astype(np.float64)) / 20)
    return factors


def _minimum_phase(gains: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The filter of these gains that answers soonest, so that speech is not late."""
    cepstrum = np.fft.irfft(np.log(gains))
    cepstrum[1 : _GRID // 2] *= 2
    cepstrum[_GRID // 2 + 1 :] = 0
    answer: npt.NDArray[np.float64] = np.fft.irfft(np.exp(np.fft.rfft(cepstrum)))[:_TAPS]
    return answer
