"""The Python SDK's sockets, of every generation, which insist on TLS."""

import base64
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import Certificate, decode_audio
from tests.clients.reply import Reply
from tests.clients.sockets import Witnessed, witness

TEXT = "The quick brown fox jumps over the lazy dog. Nobody knows what tomorrow will bring."
HEARD = "the quick brown fox jumps over the lazy dog nobody knows what tomorrow will bring"

each_generation = pytest.mark.parametrize("generation", [0, 1, 2])
but_the_first = pytest.mark.parametrize("generation", [1, 2])


def drive(generation: int, pipeline: Pipeline, certificate: Certificate, calls: Sequence[str] = ()) -> Witnessed:
    driver, packages = f"realtime_{generation}.py", f"elevenlabs-{generation}"
    return witness(pipeline, driver, packages, TEXT, calls=calls, certificate=certificate)


@pytest.fixture(scope="module")
def driven(phonemizer: Phonemizer, certificate: Certificate) -> Callable[[int], Witnessed]:
    return cache(lambda generation: drive(generation, Pipeline(FakeEngine(), phonemizer), certificate))


def audio(witnessed: Witnessed, call: str) -> bytes:
    return base64.b64decode(witnessed.report.get_result(call))


def test_heard(pipeline: Pipeline, certificate: Certificate, transcribe: Callable[..., str]) -> None:
    spoken = [drive(generation, pipeline, certificate, ["spoken"]) for generation in (0, 1, 2)]
    oldest, older, latest = (audio(each, "spoken") for each in spoken)
    assert transcribe(Reply(latest, []).samples) == HEARD
    assert oldest == older == latest, "they cut the text in different places"
    assert [each.endings for each in spoken] == [[1000]] * 3


@each_generation
def test_format_by_default(generation: int, driven: Callable[[int], Witnessed]) -> None:
    clip, rate = decode_audio(audio(driven(generation), "default_format"), "mp3")
    assert rate == 44_100
    assert len(clip) / rate == pytest.approx(len(audio(driven(generation), "spoken")) / 2 / 24_000, abs=0.06)


@but_the_first
def test_voice_settings(generation: int, driven: Callable[[int], Witnessed]) -> None:
    spoken = audio(driven(generation), "spoken")
    assert audio(driven(generation), "with_everything") == spoken
    assert len(audio(driven(generation), "fast")) / len(spoken) == pytest.approx(1 / 1.2, rel=0.03)


@but_the_first
@pytest.mark.parametrize(("call", "words"), [("wrong_key", "The API key is unknown"), ("unknown_format", "mp3_1_1")])
def test_errors(generation: int, driven: Callable[[int], Witnessed], call: str, words: str) -> None:
    error = driven(generation).report.get_error(call)
    assert (error["raised"], error["status_code"]) == ("ApiError", 1008)
    assert words in str(error["body"])


@each_generation
def test_every_socket_ends_as_it_should(generation: int, driven: Callable[[int], Witnessed]) -> None:
    good, bad = {"spoken", "with_everything", "fast", "default_format"}, {"wrong_key", "unknown_format"}
    calls = driven(generation).report.outcomes
    assert set(calls) == (good | bad if generation else {"spoken", "default_format", "wrong_key"})
    assert driven(generation).endings == [1008 if call in bad else 1000 for call in calls]
