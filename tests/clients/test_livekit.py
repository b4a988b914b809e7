"""livekit's plug-in with a model that it sends to text-to-dialogue: whole texts over HTTP, words over the socket."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.reply import Reply, Words
from tests.clients.sockets import Witnessed, witness

TEXT = "The quick brown fox jumps over the lazy dog. Nobody knows what tomorrow will bring."
STORY = "It was a dark and stormy night. " * 20


def _reply(outcome: dict[str, Any]) -> Reply:
    """The words are counted from the start of the audio."""
    return Reply(base64.b64decode(outcome["audio"]), [(word.strip(), start) for word, start in outcome["words"]])


@pytest.fixture(scope="module")
def heard(pipeline: Pipeline) -> Witnessed:
    return witness(pipeline, "livekit.py", "livekit", TEXT, STORY, calls=["whole", "streamed", "one_voice"])


@pytest.mark.parametrize("way", ["streamed", "one_voice"])
def test_words_as_they_are_written(heard: Witnessed, way: str, transcribe_words: Callable[[Samples], Words]) -> None:
    first, second = map(_reply, heard.report.get_result(way))
    assert first.audio == second.audio, "two turns on one socket"
    assert first.text == TEXT
    first.check_order()
    first.check_hearing(transcribe_words)


def test_a_whole_text(heard: Witnessed, transcribe: Callable[..., str]) -> None:
    whole = _reply(heard.report.get_result("whole"))
    assert transcribe(whole.samples) == TEXT.lower().replace(".", "")


def test_interruption_and_wrong_key(phonemizer: Phonemizer) -> None:
    calls = ["streamed", "interrupted", "wrong_key"]
    driven = witness(Pipeline(FakeEngine(), phonemizer), "livekit.py", "livekit", TEXT, STORY, calls=calls)
    whole, _ = map(_reply, driven.report.get_result("streamed"))
    other = _reply(driven.report.get_result("interrupted"))
    assert (other.text, other.audio) == (TEXT, whole.audio)
    error = driven.report.get_error("wrong_key")
    assert error["status_code"] == 401
    assert driven.endings[-1] == 401
