"""OpenAI's SDKs, unmodified, and the requests of programs that speak their API without one."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import av
import httpx
import numpy as np
import pytest
import soxr

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import KEY, Report, run, serving, wait_until_ready

TEXT = "The quick brown fox jumps over the lazy dog."
HEARD = "the quick brown fox jumps over the lazy dog"
FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"]
SDKS = {"python": ("openai_python.py", "openai"), "javascript": ("openai_javascript.cjs", "js/node_modules")}


@pytest.fixture(scope="module")
def driven(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Report]]:
    folder = tmp_path_factory.mktemp("data")
    settings = Settings(api_key=KEY, data_dir=folder)
    strict_settings = settings.model_copy(update={"strict_voices": True, "max_characters_per_minute": 300})
    with (
        serving(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as address,
        serving(create_app(strict_settings, Pipeline(FakeEngine(), phonemizer))) as strict,
    ):
        wait_until_ready(address)
        wait_until_ready(strict)

        @cache
        def driven(sdk: str) -> Report:
            driver, packages = SDKS[sdk]
            return run(driver, packages, address, strict, KEY, TEXT)

        yield driven


@pytest.fixture(params=SDKS)
def report(request: pytest.FixtureRequest, driven: Callable[[str], Report]) -> Report:
    return driven(request.param)


def decode(audio: bytes, name: str) -> Samples:
    """At 24 kHz."""
    if name == "pcm":
        return (np.frombuffer(audio, "<i2") / 32_768).astype(np.float32)
    with av.open(io.BytesIO(audio), "r") as clip:
        stream = clip.streams.audio[0]
        frames = [frame.to_ndarray() for frame in clip.decode(stream)]
        scale = 32_768 if frames[0].dtype == np.int16 else 1
        samples = np.concatenate([frame.reshape(-1) for frame in frames]).astype(np.float32) / scale
        resampled: Samples = soxr.resample(samples, stream.rate, 24_000)
        return resampled


def test_every_format_decodes_to_the_same_speech(report: Report) -> None:
    clips = {name: decode(base64.b64decode(clip), name) for name, clip in report.get_result("formats").items()}
    assert list(clips) == FORMATS
    expected = clips["pcm"]
    for name, samples in clips.items():
        assert len(samples) == pytest.approx(len(expected), abs=2400), name
        assert np.abs(samples).mean() == pytest.approx(np.abs(expected).mean(), rel=0.1), name


def test_speeds(report: Report) -> None:
    slow, usual, fast = report.get_result("speeds").values()
    assert slow == pytest.approx(4 * usual, rel=0.1)
    assert fast == pytest.approx(usual / 4, rel=0.1)


def test_streams_bring_the_same_audio(report: Report) -> None:
    streamed = report.get_result("stream")
    headers = {name.lower(): value for name, value in streamed["headers"].items()}
    assert headers["content-type"] == "audio/pcm"
    assert (headers["x-svc-voice"], headers["x-svc-model"]) == ("svcAfKore00000000000", "gpt-4o-mini-tts")
    assert len(b"".join(map(base64.b64decode, streamed["chunks"]))) > 24_000


def test_events_can_be_read(report: Report) -> None:
    lines = [line for line in report.get_result("events") if line]
    assert all(line.startswith("data: ") for line in lines)
    *deltas, done = (json.loads(line.removeprefix("data: ")) for line in lines)
    assert {delta["type"] for delta in deltas} == {"speech.audio.delta"}
    assert done["type"] == "speech.audio.done"
    assert done["usage"]["total_tokens"] == done["usage"]["input_tokens"] + done["usage"]["output_tokens"]


def test_an_id_of_a_voice_may_be_a_mix(report: Report) -> None:
    assert len(base64.b64decode(report.get_result("custom_voice"))) > 5_000


def test_models(report: Report) -> None:
    assert report.get_result("models") == ["svc-turbo", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"]
    assert report.get_result("model") == "tts-1"


def test_the_asynchronous_client(driven: Callable[[str], Report]) -> None:
    assert len(base64.b64decode(driven("python").get_result("asynchronous"))) > 24_000


@pytest.mark.parametrize(
    ("name", "raised", "status", "code", "param"),
    [
        ("wrong_key", "AuthenticationError", 401, "invalid_api_key", None),
        ("bad_speed", "BadRequestError", 400, None, "speed"),
        ("bad_format", "BadRequestError", 400, None, "response_format"),
        ("blank", "BadRequestError", 400, None, "input"),
        ("wrong_base", "NotFoundError", 404, "not_found", None),
        ("wrong_base_of_models", "NotFoundError", 404, "not_found", None),
        ("unknown_model", "NotFoundError", 404, "model_not_found", "model"),
        ("unknown_voice", "NotFoundError", 404, "voice_not_found", "voice"),
        ("too_much", "RateLimitError", 429, "rate_limit_exceeded", None),
    ],
)
def test_errors_are_the_exceptions_of_the_sdk(
    report: Report, name: str, raised: str, status: int, code: str | None, param: str | None
) -> None:
    error = report.get_result("errors")[name]
    assert (error["class"], error["status_code"], error["code"], error["param"]) == (raised, status, code, param)
    assert error["type"]
    assert error["message"]
    assert "Value error" not in error["message"]
    assert ("Did you mean /openai/v1/" in error["message"]) == name.startswith("wrong_base")


@pytest.fixture(scope="module")
def real(pipeline: Pipeline) -> Iterator[str]:
    with serving(create_app(Settings(api_key=KEY), pipeline)) as address:
        wait_until_ready(address)
        yield address


# The requests of programs, written down from their code, and the format of the answer.
REQUESTS: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    # backend/open_webui/routers/audio.py: what its page sends, with the model of its settings.
    "Open WebUI": (
        {"input": TEXT, "voice": "alloy", "model": "tts-1"},
        {"Content-Type": "application/json", "X-OpenWebUI-User-Name": "Ann", "X-OpenWebUI-User-Role": "admin"},
        "mp3",
    ),
    # custom_components/openai_tts: openaitts_engine.py, which streams Opus, and its older release.
    "openai_tts": (
        {"model": "tts-1", "input": TEXT, "voice": "shimmer", "response_format": "opus", "speed": 1.0},
        {"Content-Type": "application/json", "User-Agent": "HomeAssistant-OpenAI-TTS"},
        "opus",
    ),
    "openai_tts with extra fields": (
        {
            "model": "gpt-4o-mini-tts",
            "input": TEXT,
            "voice": "af_bella+af_heart",
            "response_format": "mp3",
            "speed": 1.0,
            "instructions": "Speak cheerfully.",
            "language": "en",
            "chunk_size": 200,
        },
        {"Content-Type": "application/json", "User-Agent": "HomeAssistant-OpenAI-TTS"},
        "mp3",
    ),
    "openai_tts before it streamed": (
        {"model": "tts-1", "input": TEXT, "voice": "onyx", "response_format": "wav", "speed": 1},
        {},
        "wav",
    ),
}


@pytest.mark.parametrize("program", REQUESTS)
def test_programs_are_heard(real: str, transcribe: Callable[..., str], program: str) -> None:
    body, headers, name = REQUESTS[program]
    response = httpx.post(
        f"{real}/v1/audio/speech", json=body, headers={"Authorization": f"Bearer {KEY}", **headers}, timeout=120
    )
    assert response.status_code == 200
    assert transcribe(decode(response.content, name)) == HEARD


def test_programs_find_voices_and_check_keys(real: str) -> None:
    key = {"Authorization": f"Bearer {KEY}", "User-Agent": "HomeAssistant-OpenAI-TTS"}
    listed = httpx.get(f"{real}/v1/audio/voices", params={"limit": 100}, headers=key).json()
    assert {voice["id"]: voice["name"] for voice in listed["voices"]}["af_heart"] == "Heart"
    assert httpx.get(f"{real}/v1/audio/models", headers=key).json()["models"][0] == {"id": "svc-turbo"}
    probe = {"model": "tts-1", "input": ".", "voice": "alloy", "response_format": "mp3"}
    assert httpx.post(f"{real}/v1/audio/speech", json=probe, headers=key, timeout=60).status_code == 200
    wrong = {"Authorization": "Bearer wrong"}
    assert httpx.post(f"{real}/v1/audio/speech", json=probe, headers=wrong).status_code == 401


@pytest.mark.parametrize(("name", "speed"), [("aac", 1.0), ("flac", 1.0), ("flac", 0.25), ("flac", 2.0)])
def test_new_formats_and_speeds_are_understood(
    real: str, transcribe: Callable[..., str], name: str, speed: float
) -> None:
    body = {"model": "tts-1", "input": TEXT, "voice": "bm_george", "response_format": name, "speed": speed}
    audio = httpx.post(
        f"{real}/v1/audio/speech", json=body, headers={"Authorization": f"Bearer {KEY}"}, timeout=300
    ).content
    heard = transcribe(decode(audio, name)).split()
    # At a quarter of the speed Whisper may take one word for another.
    assert sum(ours != theirs for ours, theirs in zip(heard, HEARD.split(), strict=False)) <= (speed < 0.5)
    assert len(heard) == len(HEARD.split())
