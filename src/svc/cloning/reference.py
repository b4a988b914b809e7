"""Checks of a recording: the best speech in it becomes the reference of a voice, with measurements and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from svc.audio.decode import MAX_SECONDS, RATE, Clip
from svc.audio.samples import Samples
from svc.cloning.pace import count_syllables, find_pace
from svc.cloning.speech_detection import DIGITAL_SILENCE_DB, FRAMES_PER_SECOND, FrameFeatures, Mask, analyze_frames
from svc.errors import ClipSilent, ClipTooShort, NoSpeech
from svc.voices.custom_voice import ReferenceMeasurements

MIN_SPEECH_SECONDS = 1.5
MAX_SPEECH_SECONDS = 20.0
SHORT_SPEECH_SECONDS = 8.0  # with less, a warning

SILENT_DBFS = -60.0  # of the loudest frames
QUIET_DBFS = -38.0
NOISY_SNR_DB = 15.0
AMPLITUDE_BINS = 50  # of the histogram that shows where a recording was clipped
FULL_BIN = 0.0005  # the least share of all samples in the bin at the clipping level
BIN_RATIO = 1.6  # to the bin three below: speech has at most 0.9, and clipped speech 2 or more
_CLIPPED_SHARE = 0.001  # of samples, in one second: too much
_NARROW_BAND_DB = -40.0  # of 4.3 to 7 kHz against 0.5 to 3.3 kHz: speech has at least -29, also as MP3 of 32 kbit/s
_TARGET_DBFS = -23.0  # the level of every reference
_SAMPLES_PER_FRAME = RATE // FRAMES_PER_SECOND
_PAUSE_FRAMES = 15  # kept on either side of speech


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """The speech that a voice is made from."""

    samples: Samples
    """Mono at `RATE`, at -23 dBFS, without long pauses."""
    measured: ReferenceMeasurements
    warnings: tuple[str, ...]
    pace: float
    """The factor by which the person speaks faster than others."""


@dataclass(frozen=True, eq=False, slots=True)
class _AnalyzedClip:
    samples: Samples
    features: FrameFeatures
    mask: Mask
    """Which frames are speech."""

    @property
    def seconds(self) -> float:
        return float(self.mask.sum()) / FRAMES_PER_SECOND


def examine(clips: Sequence[Clip]) -> Reference:
    """Makes a reference of the speech in these clips; raises `ClipSilent`, `NoSpeech` or `ClipTooShort`."""
    clip_seconds = sum(len(clip.samples) for clip in clips) / RATE
    if clip_seconds < MIN_SPEECH_SECONDS:  # in a single word speech detection finds nothing: that is not the reason
        raise ClipTooShort(clip_seconds, MIN_SPEECH_SECONDS, of_speech=False)
    analyzed = [_analyze(clip) for clip in clips]
    if all(each.features.loud < SILENT_DBFS for each in analyzed):
        raise ClipSilent
    speech_seconds = sum(each.seconds for each in analyzed)
    if not speech_seconds:
        raise NoSpeech
    if speech_seconds < MIN_SPEECH_SECONDS:
        raise ClipTooShort(speech_seconds, MIN_SPEECH_SECONDS)
    speech = np.concatenate([_cut_pauses(each) for each in analyzed if each.mask.any()])
    best = _choose_best(speech)
    level, noise = _measure_levels(analyzed)
    measured = ReferenceMeasurements(
        clip_seconds=round(clip_seconds, 2),
        speech_seconds=round(speech_seconds, 2),
        used_seconds=round(len(best) / RATE, 2),
        level_dbfs=round(level, 1),
        noise_dbfs=round(noise, 1),
        snr_db=round(level - noise, 1),
        clipping=round(_measure_clipping(best), 5),
    )
    syllables = sum(count_syllables(each.features, each.mask) for each in analyzed)
    return Reference(
        _normalize(best, level),
        measured,
        _list_warnings(clips, best, measured),
        find_pace(syllables, speech_seconds),
    )


def _analyze(clip: Clip) -> _AnalyzedClip:
    features = analyze_frames(clip.samples)
    is_silent = features.loud < SILENT_DBFS
    mask = np.zeros(len(features.level), dtype=np.bool_) if is_silent else features.speech()
    return _AnalyzedClip(clip.samples, features, mask)


def _cut_pauses(clip: _AnalyzedClip) -> Samples:
    """The speech with short pauses around it."""
    kept = np.convolve(clip.mask, np.ones(2 * _PAUSE_FRAMES + 1), "same") > 0
    return clip.samples[: len(kept) * _SAMPLES_PER_FRAME][np.repeat(kept, _SAMPLES_PER_FRAME)]


def _choose_best(speech: Samples) -> Samples:
    """The 20 s with the most contrast to the noise and the least clipping."""
    length = int(MAX_SPEECH_SECONDS * RATE)
    if len(speech) <= length:
        return speech
    seconds = speech[: len(speech) // RATE * RATE].reshape(-1, RATE)
    power = np.square(seconds.reshape(len(seconds), 20, -1)).mean(axis=2)
    recorded = np.where(power > power.max() / 10 ** (DIGITAL_SILENCE_DB / 10), power, power.max(axis=1, keepdims=True))
    contrast = 10 * np.log10((recorded.max(axis=1) + 1e-10) / (recorded.min(axis=1) + 1e-10))
    clipped = (np.abs(seconds) >= _clipping_level(speech)).mean(axis=1)
    score = np.minimum(contrast, 40.0) - 20.0 * np.minimum(clipped / _CLIPPED_SHARE, 2.0)
    window = np.convolve(score, np.ones(int(MAX_SPEECH_SECONDS)), "valid")
    start = int(window.argmax()) * RATE
    return speech[start : start + length]


def _measure_levels(clips: Sequence[_AnalyzedClip]) -> tuple[float, float]:
    """The level of the speech and of the background, in dBFS."""
    speech, noise = [], []
    for clip in clips:
        if clip.mask.any():
            frames = clip.samples[: len(clip.mask) * _SAMPLES_PER_FRAME].reshape(len(clip.mask), -1)
            power = np.square(frames).mean(axis=1)
            speech.append(power[clip.mask])
            smooth = np.convolve(power, np.full(5, 0.2), "same")
            noise.append(np.percentile(smooth[clip.features.recorded()], 10))
    background = max(float(max(noise)), 1e-10)
    return _to_decibels(float(np.concatenate(speech).mean()) - background), _to_decibels(background)


def _to_decibels(power: float) -> float:
    return float(10 * np.log10(max(power, 1e-10)))


def _measure_clipping(samples: Samples) -> float:
    return float((np.abs(samples) >= _clipping_level(samples)).mean())


def _clipping_level(samples: Samples) -> float:
    """The amplitude at which the recording was clipped, or infinity if it was not.

    In the histogram of amplitudes speech has fewer samples in each higher bin, and clipped speech has a peak at the
    clipping level, also when it was resampled afterwards.
    """
    amplitudes = np.abs(samples)
    step = float(amplitudes.max()) / AMPLITUDE_BINS
    bins = np.minimum(amplitudes / step, AMPLITUDE_BINS - 1).astype(int)
    shares = np.bincount(bins, minlength=AMPLITUDE_BINS) / len(samples)
    for number in range(AMPLITUDE_BINS * 3 // 10, AMPLITUDE_BINS):
        if shares[number] >= FULL_BIN and shares[number] > BIN_RATIO * shares[number - 3]:
            return number * step
    return np.inf


def _is_narrow_band(samples: Samples) -> bool:
    """Whether everything above 4 kHz is missing, as on the telephone."""
    size = 1024
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[:: size // 2] * np.hanning(size)
    power = np.square(np.abs(np.fft.rfft(frames))).sum(axis=0)
    hertz = np.fft.rfftfreq(size, 1 / RATE)
    low, high = (power[(hertz > bottom) & (hertz < top)].sum() for bottom, top in ((500, 3_300), (4_300, 7_000)))
    return bool(high < low * 10 ** (_NARROW_BAND_DB / 10))


def _normalize(samples: Samples, level: float) -> Samples:
    gain = min(10 ** ((_TARGET_DBFS - level) / 20), 0.99 / float(np.abs(samples).max()))
    normal: Samples = (samples * np.float32(gain)).astype(np.float32)
    return normal


def _list_warnings(clips: Sequence[Clip], speech: Samples, measured: ReferenceMeasurements) -> tuple[str, ...]:
    seconds = measured.speech_seconds
    found = {
        f"There are only {seconds:.1f} s of speech; with 10 to 20 s the voice will be more similar.": (
            seconds < SHORT_SPEECH_SECONDS
        ),
        f"The recording is noisy: the speech is {measured.snr_db:.0f} dB above the noise. "
        "Record in a quiet room.": measured.snr_db < NOISY_SNR_DB,
        "The recording is distorted: it was too loud for the microphone.": measured.clipping > 0,
        f"The recording is quiet ({measured.level_dbfs:.0f} dBFS). Speak nearer to the microphone.": (
            measured.level_dbfs < QUIET_DBFS
        ),
        "The recording has the band of a telephone: nothing above 4 kHz. One of a microphone will be more similar.": (
            _is_narrow_band(speech)
        ),
        "The file is cut off or damaged; only the readable part was used.": any(clip.cut_off for clip in clips),
        f"The recording is long; only its first {MAX_SECONDS} s were considered.": any(clip.too_long for clip in clips),
    }
    return tuple(text for text, applies in found.items() if applies)
