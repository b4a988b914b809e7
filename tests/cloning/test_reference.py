"""Checks of a recording: measurements, the choice of the best part, warnings and refusals."""

from collections.abc import Callable

import numpy as np
import pytest
import soxr

from svc.audio.decode import Clip
from svc.audio.samples import Samples
from svc.cloning.reference import MAX_SPEECH_SECONDS, MIN_SPEECH_SECONDS, examine
from svc.errors import ClipSilent, ClipTooShort, NoSpeech
from tests.audio.recordings import RATE, music, noise
from tests.conftest import STORY


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * RATE), dtype=np.float32)


def join(*parts: Samples) -> Clip:
    return Clip(np.concatenate(parts))


def test_a_good_recording_has_no_warnings(spoken: Samples) -> None:
    reference = examine([Clip(spoken)])
    measured = reference.measured
    assert reference.warnings == ()
    assert measured.clip_seconds == pytest.approx(len(spoken) / RATE, abs=0.01)
    assert 0.7 * measured.clip_seconds < measured.speech_seconds < measured.clip_seconds
    assert -35 < measured.level_dbfs < -10
    assert measured.snr_db > 25
    assert measured.clipping == 0


def test_silence_is_trimmed(spoken: Samples) -> None:
    padded = examine([join(silence(5), spoken, silence(20), spoken[: RATE * 3], silence(9))])
    assert padded.measured.clip_seconds > 45
    assert len(padded.samples) / RATE < 18


def test_several_recordings_are_one_reference(spoken: Samples) -> None:
    halves = [Clip(spoken[: RATE * 5]), Clip(spoken[RATE * 5 :])]
    assert examine(halves).measured.speech_seconds == pytest.approx(
        examine([Clip(spoken)]).measured.speech_seconds, abs=0.6
    )


def test_the_best_of_a_long_recording_is_chosen(spoken: Samples) -> None:
    bad = np.clip(20 * spoken, -0.5, 0.5) + noise(len(spoken) / RATE)[: len(spoken)]
    bad = bad[: len(bad) // RATE * RATE]
    good = np.concatenate([spoken, spoken])
    reference = examine([join(bad, bad, good, bad)])
    assert len(reference.samples) / RATE <= MAX_SPEECH_SECONDS
    assert reference.measured.speech_seconds > 40
    chosen = reference.samples / np.abs(reference.samples).max()
    assert np.mean(np.abs(chosen) > 0.98) < 0.001, "there was a part without clipping to choose"


def test_the_level_is_normalized(spoken: Samples) -> None:
    loud, quiet = examine([Clip(spoken)]), examine([Clip(spoken * 0.02)])
    assert len(quiet.samples) == pytest.approx(len(loud.samples), rel=0.03)
    assert np.std(quiet.samples) == pytest.approx(np.std(loud.samples), rel=0.03)
    assert any("quiet" in warning for warning in quiet.warnings)


@pytest.mark.parametrize("snr", [10, 5])
def test_noise_is_a_warning(spoken: Samples, snr: int) -> None:
    level = float(np.sqrt(np.square(spoken).mean())) * 10 ** (-snr / 20)
    reference = examine([Clip(spoken + noise(len(spoken) / RATE, level)[: len(spoken)])])
    assert any("noisy" in warning for warning in reference.warnings)
    assert reference.measured.snr_db == pytest.approx(snr, abs=5)


@pytest.mark.parametrize("gain", [3, 8])
@pytest.mark.parametrize("rate", [RATE, 16_000, 44_100])
def test_clipping_is_a_warning(spoken: Samples, gain: float, rate: int) -> None:
    """Also when the recording was made quieter and resampled afterwards, which rounds the edges."""
    loud = np.clip(gain * spoken / np.abs(spoken).max(), -1, 1)
    resampled = soxr.resample(soxr.resample(0.6 * loud, RATE, rate), rate, RATE).astype(np.float32)
    reference = examine([Clip(resampled)])
    assert any("distorted" in warning for warning in reference.warnings)
    expected = (np.abs(loud) >= 1).mean()
    assert 0.3 * expected < reference.measured.clipping < 3 * expected


@pytest.mark.parametrize("voice", ["af_heart", "bm_george", "am_fenrir"])
def test_loud_speech_is_not_taken_for_clipping(say: Callable[..., Samples], voice: str) -> None:
    loud = say(STORY, voice=voice)
    assert examine([Clip(loud / np.abs(loud).max())]).measured.clipping == 0


def test_a_telephone_band_is_a_warning(spoken: Samples) -> None:
    narrow = soxr.resample(soxr.resample(spoken, RATE, 8_000), 8_000, RATE)
    narrow = narrow + noise(len(spoken) / RATE, 1e-5)[: len(narrow)]  # what a codec leaves
    assert any("telephone" in warning for warning in examine([Clip(narrow)]).warnings)
    wide = soxr.resample(soxr.resample(spoken, RATE, 16_000), 16_000, RATE)
    assert not any("telephone" in warning for warning in examine([Clip(wide)]).warnings)


def test_short_and_long_and_cut_off_are_warnings(spoken: Samples) -> None:
    assert any("of speech" in warning for warning in examine([Clip(spoken[: RATE * 6])]).warnings)
    assert any("long" in warning for warning in examine([Clip(spoken, too_long=True)]).warnings)
    assert any("cut off" in warning for warning in examine([Clip(spoken, cut_off=True)]).warnings)


def test_too_little_speech_is_refused(spoken: Samples) -> None:
    with pytest.raises(ClipTooShort, match=f"{MIN_SPEECH_SECONDS:g}"):
        examine([join(spoken[: RATE * 1], silence(20))])


def test_a_refusal_never_says_that_there_is_as_much_as_is_needed() -> None:
    for seconds in (1.45, 1.46, 1.49, 1.499):
        assert "contains 1.4 seconds" in str(ClipTooShort(seconds, MIN_SPEECH_SECONDS))
        assert "only 1.4 seconds long" in str(ClipTooShort(seconds, MIN_SPEECH_SECONDS, of_speech=False))


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1, 0.5, 1.0, 1.4])
def test_a_short_clip_is_called_short_whatever_is_in_it(spoken: Samples, seconds: float) -> None:
    for start in (0, 1, 2):
        begin = start * RATE
        with pytest.raises(ClipTooShort, match=f"is only {seconds:.1f} seconds long.*at least 1.5 seconds of speech"):
            examine([Clip(spoken[begin : begin + int(seconds * RATE)])])
    with pytest.raises(ClipTooShort, match="long"):
        examine([Clip(silence(seconds))])


@pytest.mark.parametrize("seconds", [2.0, 2.5, 3.0])
def test_a_little_speech_is_taken_with_a_warning(spoken: Samples, seconds: float) -> None:
    reference = examine([Clip(spoken[: int(seconds * RATE)])])
    assert MIN_SPEECH_SECONDS <= reference.measured.speech_seconds <= seconds
    assert f"There are only {reference.measured.speech_seconds:.1f} s of speech" in reference.warnings[0]


def _pad(clip: Samples) -> Samples:
    return np.concatenate([silence(1), clip, silence(40)])


def _repeat(clip: Samples) -> Samples:
    return np.concatenate([clip, silence(0.2), clip])


def _dither(clip: Samples) -> Samples:
    """What an editor writes for silence in 16 bits."""
    padded = _pad(clip)
    steps = np.random.default_rng(1).triangular(-1, 0, 1, len(padded)) + 32_768 * padded
    return (np.rint(steps) / 32_768).astype(np.float32)


@pytest.mark.parametrize("edit", [_pad, _repeat, _dither])
@pytest.mark.parametrize("snr", [35, 20, 12])
def test_digital_silence_changes_no_measurement(spoken: Samples, snr: int, edit: Callable[[Samples], Samples]) -> None:
    clip = spoken[RATE * 5 : RATE * 9]
    level = float(np.sqrt(np.square(clip).mean())) * 10 ** (-snr / 20)
    clip = clip + noise(len(clip) / RATE, level)[: len(clip)]
    alone, edited = examine([Clip(clip)]).measured, examine([Clip(edit(clip))]).measured
    copies = 2 if edit is _repeat else 1
    assert edited.speech_seconds / copies == pytest.approx(alone.speech_seconds, abs=0.3)
    assert edited.noise_dbfs == pytest.approx(alone.noise_dbfs, abs=1)
    assert edited.snr_db == pytest.approx(alone.snr_db, abs=1.5)


def test_speech_between_stretches_of_digital_silence_is_found(spoken: Samples) -> None:
    """Each stretch alone is too short to tell that it is speech."""
    words = [spoken[start : start + RATE * 2 // 5] for start in range(0, 8 * RATE, RATE * 2 // 5)]
    parts = [part for word in words for part in (word, silence(10))]
    assert examine([join(*parts)]).measured.speech_seconds > 5


@pytest.mark.parametrize("make", [noise, music])
def test_digital_silence_makes_no_speech_of_noise_and_music(make: Callable[[float], Samples]) -> None:
    for parts in ((make(5), silence(5)), (make(3), silence(0.2), make(3)), (silence(4), make(8), silence(9))):
        with pytest.raises(NoSpeech):
            examine([join(*parts)])


def test_digital_silence_is_no_quiet_room(spoken: Samples) -> None:
    """Of a long recording, the noisy part with a gap in every second is not taken for the best."""
    noisy = (spoken + noise(len(spoken) / RATE, 0.03)[: len(spoken)])[: len(spoken) // RATE * RATE]
    noisy = np.tile(noisy, 2)
    for second in range(len(noisy) // RATE):
        noisy[second * RATE : second * RATE + RATE // 10] = 0
    clean = np.tile(spoken, 2) + noise(2 * len(spoken) / RATE, 0.001)[: 2 * len(spoken)]
    chosen = examine([join(noisy, clean)]).samples
    frames = np.square(chosen[: len(chosen) // 240 * 240].reshape(-1, 240)).mean(axis=1)
    assert 10 * np.log10(np.percentile(frames, 10) / frames.mean()) < -25


def test_silence_is_refused() -> None:
    with pytest.raises(ClipSilent):
        examine([Clip(silence(10.0))])


def test_very_quiet_noise_is_silence() -> None:
    with pytest.raises(ClipSilent):
        examine([Clip(noise(10, 1e-4))])


@pytest.mark.parametrize("seconds", [8, 25])
@pytest.mark.parametrize(
    "make", [noise, music, lambda seconds: 0.3 * np.sin(np.arange(seconds * RATE) / 30).astype(np.float32)]
)
def test_noise_and_music_are_refused(make: Callable[[float], Samples], seconds: int) -> None:
    with pytest.raises(NoSpeech):
        examine([Clip(make(seconds))])


def test_speech_after_music_is_found(spoken: Samples) -> None:
    reference = examine([join(music(20), silence(1), spoken)])
    assert reference.measured.speech_seconds < len(spoken) / RATE + 6


def test_built_in_voices_pass(say: Callable[..., Samples]) -> None:
    for voice in ("af_heart", "bm_george", "jf_alpha", "pm_alex", "zf_xiaoxiao", "am_onyx", "af_nicole"):
        examine([Clip(say("The lighthouse keeper climbed the stairs, lit the lamp, and looked out to sea.", voice))])
