"""The watermark: small, found after common processing, and not found in other audio."""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soxr

from svc.audio import decode
from svc.audio.samples import Samples
from svc.audio.watermark import detect_watermark, embed_watermark
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.voices.catalogue import VoiceCatalogue
from tests.audio.recordings import RATE, encode_recording, music, noise
from tests.conftest import STORY
from tests.voices.examples import make_voice

SVC = str(Path(sys.executable).with_name("svc"))


def resample_there_and_back(samples: Samples, rate: int) -> Samples:
    there_and_back: Samples = soxr.resample(soxr.resample(samples, RATE, rate), rate, RATE).astype(np.float32)
    return there_and_back


TREATMENTS: dict[str, Callable[[Samples], Samples]] = {
    "nothing": lambda samples: samples,
    "mp3, 64 kbit/s": lambda samples: decode.decode_clip(encode_recording(samples, "mp3", bit_rate=64_000)).samples,
    "opus, 32 kbit/s": lambda samples: (
        decode.decode_clip(encode_recording(samples, "ogg opus", bit_rate=32_000)).samples
    ),
    "16 kHz": lambda samples: resample_there_and_back(samples, 16_000),
    "8 kHz, µ-law": lambda samples: decode.decode_clip(encode_recording(samples, "wav, µ-law")).samples,
    "five seconds out of the middle": lambda samples: samples[RATE * 3 + 77 : RATE * 8 + 77],
    "quieter, with noise": lambda samples: 0.1 * samples + noise(len(samples) / RATE, 0.0002)[: len(samples)],
    "after other speech": lambda samples: np.concatenate([samples[::-1], samples]),
}


@pytest.fixture(scope="module")
def marked(spoken: Samples) -> Samples:
    """With the watermark, embedded chunk by chunk as the service does it."""
    bounds = [0, 9_000, 40_000, 40_100, 130_001, len(spoken)]
    return np.concatenate([embed_watermark(spoken[a:b], a) for a, b in pairwise(bounds)])


def test_change_is_small_and_continuous_across_chunks(spoken: Samples, marked: Samples) -> None:
    change = marked - spoken
    assert len(marked) == len(spoken)
    assert 10 * np.log10(np.square(spoken).sum() / np.square(change).sum()) > 27
    steps = np.abs(np.diff(change))
    assert max(steps[at - 1] for at in (9_000, 40_000, 40_100, 130_001)) < np.percentile(steps, 99)


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_found_after_processing(treatment: str, spoken: Samples, marked: Samples) -> None:
    assert detect_watermark(TREATMENTS[treatment](marked)).found
    assert not detect_watermark(TREATMENTS[treatment](spoken)).found


def test_not_found_in_other_audio(say: Callable[..., Samples]) -> None:
    for voice in ("af_heart", "bm_george", "af_nicole", "jf_alpha"):
        assert detect_watermark(say(STORY, voice=voice)).p_value > 1e-4
    for samples in (noise(20), music(20), np.zeros(RATE * 10, np.float32), np.zeros(10, np.float32)):
        assert detect_watermark(samples).p_value > 1e-4


def test_silence_and_short_chunks_are_unchanged() -> None:
    assert not embed_watermark(np.zeros(50_000, np.float32), 123).any()
    assert len(embed_watermark(noise(0.001), 0)) == len(noise(0.001))


def test_only_custom_voices_get_the_watermark(pipeline: Pipeline, voices: VoiceCatalogue, tmp_path: Path) -> None:
    marking = Pipeline(pipeline._engine, pipeline._phonemizer, watermark=True)

    def synthesize(pipeline: Pipeline, name: str) -> Samples:
        voice = voices.build_custom(make_voice()) if name == "cloned" else voices.find(name)
        return np.concatenate([chunk.samples for chunk in pipeline.synthesize(SynthesisRequest(STORY, voice))])

    assert not detect_watermark(synthesize(marking, "af_heart")).found
    assert not detect_watermark(synthesize(pipeline, "cloned")).found
    watermarked = synthesize(marking, "cloned")
    assert detect_watermark(watermarked).found
    (tmp_path / "watermarked.mp3").write_bytes(encode_recording(watermarked, "mp3"))
    (tmp_path / "other.wav").write_bytes(encode_recording(synthesize(pipeline, "af_heart"), "wav 44.1 kHz"))
    (tmp_path / "no.wav").write_bytes(b"nonsense")

    def command(file: str) -> tuple[int, str]:
        result = subprocess.run(
            [SVC, "watermark", "check", str(tmp_path / file)], capture_output=True, text=True, timeout=120
        )
        return result.returncode, result.stdout + result.stderr

    assert command("watermarked.mp3")[0] == 0
    assert "Watermark found" in command("watermarked.mp3")[1]
    assert command("other.wav") == (3, "No watermark found.\n")
    assert command("no.wav")[0] == 1
