"""pipecat's services, over a socket and over HTTP, in a pipeline as a voice agent has one."""

import base64
from collections.abc import Callable, Iterator

import pytest

from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import Report
from tests.clients.reply import Reply, Words
from tests.clients.sockets import Witnessed, witness

TEXT = "The quick brown fox jumps over the lazy dog. Nobody knows what tomorrow will bring."
STORY = "It was a dark and stormy night. " * 60


class SlowEngine(FakeEngine):
    """Leaves time to interrupt it, and counts how often it had to work."""

    def __init__(self) -> None:
        super().__init__(work=0.1)
        self.chunks = 0

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            self.chunks += 1
            yield chunk


def replies(report: Report, call: str) -> list[Reply]:
    get_result = report.get_result(call)
    assert get_result["errors"] == []
    return [_reply(base64.b64decode(each["audio"]), each["words"]) for each in get_result["replies"]]


def _reply(audio: bytes, words: Words) -> Reply:
    """With the times as pipecat tells them, on the clock of the pipeline, counted from the first word."""
    return Reply(audio, [(word, start - words[0][1]) for word, start in words])


@pytest.fixture(scope="module")
def heard(pipeline: Pipeline) -> Witnessed:
    return witness(pipeline, "pipecat.py", "pipecat", TEXT, STORY, calls=["socket", "http", "dialogue"])


@pytest.mark.parametrize("way", ["socket", "http", "dialogue"])
def test_heard(heard: Witnessed, way: str, transcribe_words: Callable[[Samples], Words]) -> None:
    (reply,) = replies(heard.report, way)
    assert reply.text == TEXT
    reply.check_order()
    reply.check_hearing(transcribe_words)
    assert heard.endings == [1000, 1000]


@pytest.fixture(scope="module")
def engine() -> SlowEngine:
    return SlowEngine()


@pytest.fixture(scope="module")
def driven(engine: SlowEngine, phonemizer: Phonemizer) -> Witnessed:
    calls = ["socket", "interrupted", "wrong_key", "wrong_key_over_http"]
    return witness(Pipeline(engine, phonemizer), "pipecat.py", "pipecat", TEXT, STORY, calls=calls)


def test_interruption(driven: Witnessed, engine: SlowEngine) -> None:
    (whole,) = replies(driven.report, "socket")
    begun, other = replies(driven.report, "interrupted")
    assert STORY.startswith(begun.text)
    assert begun.seconds > 0
    assert (other.text, other.audio) == (TEXT, whole.audio)
    assert engine.chunks < 30, "the rest of the story is not even made"


def test_interrupted_dialogue(phonemizer: Phonemizer) -> None:
    """The server finishes what it was sent, as the protocol has it; the client drops that and speaks the next reply."""
    calls = ["dialogue", "interrupted_dialogue"]
    driven = witness(Pipeline(SlowEngine(), phonemizer), "pipecat.py", "pipecat", TEXT, STORY, calls=calls)
    (whole,) = replies(driven.report, "dialogue")
    begun, other = replies(driven.report, "interrupted_dialogue")
    assert STORY.startswith(begun.text)
    assert (other.text, other.audio) == (TEXT, whole.audio)


def test_wrong_key(driven: Witnessed) -> None:
    socket, http = (driven.report.get_result(call) for call in ("wrong_key", "wrong_key_over_http"))
    (error,) = socket["errors"]
    assert "401" in error
    assert sum("invalid_api_key" in error for error in http["errors"]) == 2, "one for each sentence"
    assert not any(reply["audio"] for reply in [*socket["replies"], *http["replies"]])


def test_every_socket_ends_as_it_should(driven: Witnessed) -> None:
    # The server closes soon after it was asked to, before the client loses patience; a wrong key is tried once.
    talked, interrupted, refused = 1000, 1000, 401
    assert driven.endings == [talked, interrupted, refused]
