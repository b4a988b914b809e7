"""The spectral envelope of a voice, and the equalizer that matches it to the speaker's.

The engine gives most voices the spectral balance of those that it was trained on. An equalizer with fixed gains per
voice corrects the difference in everything that the voice says.
"""

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples

BANDS = 20
"""Evenly spaced in mel from 20 Hz to 8 kHz."""
MAX_GAIN_DB = 8.0
"""Larger gains cost naturalness (training/speaker_encoder/EXPERIMENTS.md)."""

SpectralEnvelope = npt.NDArray[np.float32]
"""[20], in dB."""

FLAT = np.zeros(BANDS, dtype=np.float32)

_TAPS = 512
_FFT_SIZE = 4096
# Fades out above 3.7 kHz: voices are as similar to the speaker as with all bands, and a little more natural.
_BAND_WEIGHTS = np.interp(np.arange(BANDS), [14, BANDS], [1.0, 0.0])
_MISSING_DB = -25.0  # a band that is weaker by this much was lost by the recording, not spoken so softly


def _to_mel(hertz: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    mel: npt.NDArray[np.float64] = np.log1p(hertz / 700.0)
    return mel


_LOWEST, _HIGHEST = _to_mel(np.array([20.0, 8_000.0]))
_CENTRES = _LOWEST + (_HIGHEST - _LOWEST) * (np.arange(BANDS) + 0.5) / BANDS


def measure_envelope(log_mel: npt.NDArray[np.float32]) -> SpectralEnvelope:
    """The envelope of the speech in a clip, without its noise, from log mel power in 80 bands. [frames, 80]

    It is the mean of the power, so loud frames count most.
    """
    power, loudness = np.exp(log_mel), log_mel.mean(axis=1)
    speech, noise = power.mean(axis=0), power[loudness <= np.quantile(loudness, 0.1)].mean(axis=0)
    clean = np.log(np.maximum(speech - noise, 0.05 * speech))
    envelope: SpectralEnvelope = (10 / np.log(10) * clean.reshape(BANDS, -1).mean(axis=1)).astype(np.float32)
    return envelope


def matching_gains(person: SpectralEnvelope, voice: SpectralEnvelope) -> SpectralEnvelope:
    """The gains that bring the voice's envelope to the person's, at the same loudness."""
    difference = person - voice
    difference -= np.median(difference)
    limited = np.clip(_BAND_WEIGHTS * difference, -MAX_GAIN_DB, MAX_GAIN_DB)
    gains = np.where(difference > _MISSING_DB, limited, 0.0)
    power_ratio = _total_power(voice + gains) / _total_power(voice)
    normalised: SpectralEnvelope = (gains - 10 * np.log10(power_ratio)).astype(np.float32)
    return normalised


def _total_power(envelope: SpectralEnvelope) -> float:
    """The power in all bands, with the pre-emphasis of the mel features undone: most of it is at low frequencies."""
    hertz = 700.0 * np.expm1(_CENTRES)
    emphasis = np.abs(1 - 0.97 * np.exp(-2j * np.pi * hertz / 16_000)) ** 2
    return float(np.sum(10 ** (envelope / 10) / emphasis))


class Equalizer:
    """Filters audio in chunks of any length, without delay."""

    def __init__(self, gains: SpectralEnvelope, rate: int) -> None:
        self._taps = _design_minimum_phase(_interpolate_gains(gains, rate))
        self._history = np.zeros(_TAPS - 1, dtype=np.float32)

    def __call__(self, samples: Samples) -> Samples:
        extended = np.concatenate([self._history, samples])
        self._history = extended[len(extended) - _TAPS + 1 :]
        size = 1 << (len(extended) - 1).bit_length()
        spectrum = np.fft.rfft(extended, size) * np.fft.rfft(self._taps, size)
        filtered: Samples = np.fft.irfft(spectrum, size)[_TAPS - 1 : len(extended)].astype(np.float32)
        return filtered


def _interpolate_gains(gains: SpectralEnvelope, rate: int) -> npt.NDArray[np.float64]:
    """The gains as linear factors, evenly spaced from 0 Hz to half the sample rate. [2049]"""
    mel = _to_mel(np.fft.rfftfreq(_FFT_SIZE, 1 / rate))
    factors: npt.NDArray[np.float64] = 10 ** (np.interp(mel, _CENTRES, gains.astype(np.float64)) / 20)
    return factors


def _design_minimum_phase(factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The minimum-phase filter with this magnitude: the one with the least delay."""
    cepstrum = np.fft.irfft(np.log(factors))
    cepstrum[1 : _FFT_SIZE // 2] *= 2
    cepstrum[_FFT_SIZE // 2 + 1 :] = 0
    taps: npt.NDArray[np.float64] = np.fft.irfft(np.exp(np.fft.rfft(cepstrum)))[:_TAPS]
    return taps
