"""From recordings to a reference: the best speech in them, what was measured, and what is wrong with it in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from svc.audio.decode import MAX_SECONDS, RATE, Clip
from svc.cloning.speech_detection import FRAMES_A_SECOND, Mask, ServerMessages, listen
from svc.engine.protocol import Samples
from svc.errors import ClipSilent, ClipTooShort, NoSpeech

LEAST_SPEECH = 3.0
MOST_SPEECH = 20.0
_BEST_FROM = 8.0  # seconds of speech; with less, more would help

_SILENT = -60.0  # dBFS of what is loudest
_QUIET = -38.0
_NOISY = 15.0  # dB of speech above noise
_BANDS = 50  # of loudness, for finding where a recording was cut off
_CROWDED = 0.0005  # of all samples in one band
_PILED_UP = 1.6  # times as many as three bands below: speech has at most 0.9, and clipped speech 2 or more
_CLIPPED = 0.001  # a share of samples that is too much
_NORMAL = -23.0  # dBFS that a reference is brought to
_SAMPLES_A_FRAME = RATE // FRAMES_A_SECOND
_PAUSE = 15  # frames kept on either side of speech


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of the recordings that a voice was made from."""

    clip_seconds: float
    speech_seconds: float
    used_seconds: float
    """Of speech: the best, when there is more than a voice needs."""
    level_dbfs: float
    noise_dbfs: float
    snr_db: float
    clipping: float
    """The share of samples that were cut off because they were too loud."""


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """What a voice is made from."""

    samples: Samples
    """Mono at `RATE`, at a normal level, without long pauses."""
    measured: Measured
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Take:
    """The speech of one clip."""

    samples: Samples
    heard: ServerMessages
    mask: Mask

    @property
    def seconds(self) -> float:
        return float(self.mask.sum()) / FRAMES_A_SECOND


def examine(clips: Sequence[Clip]) -> Reference:
    """The reference that these clips hold; raises `ClipSilent`, `NoSpeech` or `ClipTooShort`."""
    takes = [_take(clip) for clip in clips]
    if all(take.heard.loud < _SILENT for take in takes):
        raise ClipSilent
    speech_seconds = sum(take.seconds for take in takes)
    if not speech_seconds:
        raise NoSpeech
    if speech_seconds < LEAST_SPEECH:
        raise ClipTooShort(speech_seconds, LEAST_SPEECH)
    speech = np.concatenate([_trimmed(take) for take in takes if take.mask.any()])
    best = _best(speech)
    level, noise = _levels(takes)
    measured = Measured(
        clip_seconds=round(sum(len(clip.samples) for clip in clips) / RATE, 2),
        speech_seconds=round(speech_seconds, 2),
        used_seconds=round(len(best) / RATE, 2),
        level_dbfs=round(level, 1),
        noise_dbfs=round(noise, 1),
        snr_db=round(level - noise, 1),
        clipping=round(_clipping(best), 5),
    )
    return Reference(_normalised(best, level), measured, _warnings(clips, measured))


def _take(clip: Clip) -> _Take:
    heard = listen(clip.samples)
    mask = heard.speech() if heard.loud >= _SILENT else np.zeros(len(heard.level), dtype=np.bool_)
    return _Take(clip.samples, heard, mask)


def _trimmed(take: _Take) -> Samples:
    """The speech with short pauses around it."""
    kept = np.convolve(take.mask, np.ones(2 * _PAUSE + 1), "same") > 0
    return take.samples[: len(kept) * _SAMPLES_A_FRAME][np.repeat(kept, _SAMPLES_A_FRAME)]


def _best(speech: Samples) -> Samples:
    """The stretch of at most 20 s that stands out most clearly from its noise and is clipped least."""
    length = int(MOST_SPEECH * RATE)
    if len(speech) <= length:
        return speech
    seconds = speech[: len(speech) // RATE * RATE].reshape(-1, RATE)
    power = np.square(seconds.reshape(len(seconds), 20, -1)).mean(axis=2)
    contrast = 10 * np.log10((power.max(axis=1) + 1e-10) / (power.min(axis=1) + 1e-10))
    clipped = (np.abs(seconds) >= _ceiling(speech)).mean(axis=1)
    score = np.minimum(contrast, 40.0) - 20.0 * np.minimum(clipped / _CLIPPED, 2.0)
    window = np.convolve(score, np.ones(int(MOST_SPEECH)), "valid")
    start = int(window.argmax()) * RATE
    return speech[start : start + length]


def _levels(takes: Sequence[_Take]) -> tuple[float, float]:
    """Of the speech, and of what is there when nobody speaks, in dBFS."""
    speech, noise = [], []
    for take in takes:
        if take.mask.any():
            power = (
                np.square(take.samples[: len(take.mask) * _SAMPLES_A_FRAME]).reshape(len(take.mask), -1).mean(axis=1)
            )
            speech.append(power[take.mask])
            noise.append(np.percentile(np.convolve(power, np.full(5, 0.2), "same"), 10))
    background = max(float(max(noise)), 1e-10)
    return _decibels(float(np.concatenate(speech).mean()) - background), _decibels(background)


def _decibels(power: float) -> float:
    return float(10 * np.log10(max(power, 1e-10)))


def _clipping(samples: Samples) -> float:
    return float((np.abs(samples) >= _ceiling(samples)).mean())


def _ceiling(samples: Samples) -> float:
    """Where the recording was cut off, infinitely high if it was not.

    Loud samples pile up there, where speech has ever fewer: also when another rate has rounded the edges since.
    """
    loudness = np.abs(samples)
    step = float(loudness.max()) / _BANDS
    bands = np.bincount(np.minimum(loudness / step, _BANDS - 1).astype(int), minlength=_BANDS) / len(samples)
    for band in range(_BANDS * 3 // 10, _BANDS):
        if bands[band] >= _CROWDED and bands[band] > _PILED_UP * bands[band - 3]:
            return band * step
    return np.inf


def _normalised(samples: Samples, level: float) -> Samples:
    gain = min(10 ** ((_NORMAL - level) / 20), 0.99 / float(np.abs(samples).max()))
    normal: Samples = (samples * np.float32(gain)).astype(np.float32)
    return normal


def _warnings(clips: Sequence[Clip], measured: Measured) -> tuple[str, ...]:
    spoken = measured.speech_seconds
    found = {
        f"There are only {spoken:.1f} s of speech; 10 to 20 s make a better likeness.": spoken < _BEST_FROM,
        f"The recording is noisy: the speech is {measured.snr_db:.0f} dB above the noise. "
        "A quiet room makes a better likeness.": measured.snr_db < _NOISY,
        "The recording is distorted: it was too loud for the microphone.": measured.clipping > 0,
        f"The recording is quiet ({measured.level_dbfs:.0f} dBFS). Speak nearer to the microphone.": (
            measured.level_dbfs < _QUIET
        ),
        "The file is cut off or damaged; what could be read was used.": any(clip.cut_off for clip in clips),
        f"The recording is long; its first {MAX_SECONDS} s were listened to.": any(clip.too_long for clip in clips),
    }
    return tuple(words for words, applies in found.items() if applies)
