"""A sentence through each family of clients, spoken by the real engine and heard by Whisper."""

import base64
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import soxr

from svc.app import create_app
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.clients.conftest import KEY, decode_audio, drive, serving, wait_until_ready

SENTENCE = "The quick brown fox jumps over the lazy dog."
HEARD = "the quick brown fox jumps over the lazy dog"


@pytest.fixture(scope="module")
def address(pipeline: Pipeline) -> Iterator[str]:
    with serving(create_app(Settings(api_key=KEY), pipeline)) as address:
        wait_until_ready(address)
        yield address


def test_python(address: str, transcribe: Callable[..., str]) -> None:
    clip = drive("python_2", address, text=SENTENCE, calls=["clip"]).get_result("clip")
    samples, rate = decode_audio(base64.b64decode(clip), "mp3")
    assert transcribe(soxr.resample(samples, rate, 24_000)) == HEARD


def test_javascript(address: str, transcribe: Callable[..., str]) -> None:
    lines = drive("javascript_2", address, text=SENTENCE, calls=["stream_timestamps"]).get_result("stream_timestamps")
    audio = b"".join(base64.b64decode(line["audio_base64"]) for line in lines)
    assert transcribe(np.frombuffer(audio, "<i2").astype(np.float32) / 32_768) == HEARD
