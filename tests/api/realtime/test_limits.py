"""Over HTTP and sockets alike: what speaks is counted, what waits for text is not, and nothing becomes endless."""

import json
import re
import socket
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest

from svc.audio import formats
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue
from tests.api.realtime.conftest import VOICE, Running, eventually, running

PATH = f"/v1/text-to-speech/{VOICE}"
SENTENCE = "One two three four five. "


def _measure(service: Running, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", httpx.get(f"{service.address}/metrics").text, re.MULTILINE)
    assert found, name
    return float(found[1])


def _post(service: Running, text: str, path: str = "", key: str | None = None) -> httpx.Response:
    headers = {"xi-api-key": key} if key else {}
    return httpx.post(f"{service.address}{PATH}{path}", json={"text": text}, headers=headers, timeout=300)


@pytest.fixture
def narrow(phonemizer: Phonemizer) -> Iterator[Running]:
    """A service that synthesizes two texts at once, and lets nobody wait for long."""
    with running(phonemizer, max_streams=2, queue_seconds=0.2) as service:
        yield service


def test_contexts_count_as_streams(narrow: Running) -> None:
    narrow.engine.may_speak.clear()
    with narrow.open("multi-stream-input") as caller:
        for name in "abc":
            caller.send({"text": SENTENCE, "context_id": name, "flush": True})
        refused = caller.until(lambda frame: "error" in frame)[-1]
        assert (refused["context_id"], refused["error"]) == ("c", "too_many_concurrent_requests")
        assert _measure(narrow, r'svc_refusals_total\{reason="too_many_concurrent_requests"\}') == 1
        response = _post(narrow, SENTENCE, "/stream")
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.headers["current-concurrent-requests"] == "2"
        assert response.headers["maximum-concurrent-requests"] == "2"
        narrow.engine.may_speak.set()
        caller.send({"close_socket": True})
        caller.rest()
    assert _post(narrow, SENTENCE).status_code == 200


def test_a_socket_that_waits_for_text_does_not_count(narrow: Running) -> None:
    with narrow.open("stream-input") as first, narrow.open("stream-input") as second, narrow.open("stream-input"):
        for caller in (first, second):
            caller.send({"text": "Hi. ", "flush": True})
            caller.next()
        eventually(lambda: _measure(narrow, "svc_streams") == 0)  # once the listeners have heard it
        assert _post(narrow, "Hi.").status_code == 200
        first.send({"text": "Hi again. ", "flush": True})
        assert first.next()["audio"]


def test_a_request_that_waits_is_let_in(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_streams=1, queue_seconds=300) as service:
        service.engine.may_speak.clear()
        with service.open("stream-input") as caller, httpx.Client(timeout=300) as client:
            caller.send({"text": "Hi. ", "flush": True})
            eventually(lambda: _measure(service, "svc_streams") == 1)
            with socket.create_connection((urlsplit(service.address).hostname, urlsplit(service.address).port)):
                service.engine.may_speak.set()
                assert client.post(f"{service.address}{PATH}", json={"text": "Hi."}).status_code == 200


def test_whole_clips_wait_as_long_as_their_client_does(narrow: Running) -> None:
    """Five at once, where a stream waits for a fifth of a second; and a stream finds its place all the same."""
    narrow.engine.may_speak.clear()
    with ThreadPoolExecutor(6) as clients:
        clips = [clients.submit(_post, narrow, SENTENCE, path) for path in ("", "/with-timestamps", "", "", "")]
        eventually(lambda: _measure(narrow, "svc_waiting") == 4)  # as many as may
        time.sleep(0.5)
        stream = clients.submit(_post, narrow, SENTENCE, "/stream")
        eventually(lambda: _measure(narrow, "svc_streams") == 2)
        assert _post(narrow, SENTENCE).status_code == 429
        narrow.engine.may_speak.set()
        assert [each.result().status_code for each in (stream, *clips)] == [200] * 6


def test_a_client_that_hangs_up_gives_its_place_back_at_once(narrow: Running) -> None:
    """Also while the engine is busy with it, and also one that still waits for its place."""
    narrow.engine.may_speak.clear()
    address = urlsplit(narrow.address)
    clients = []
    for path in ("", "/with-timestamps", "", ""):
        clients.append(HTTPConnection(str(address.hostname), address.port))
        clients[-1].request("POST", PATH + path, json.dumps({"text": SENTENCE}), {"content-type": "application/json"})
    eventually(lambda: _measure(narrow, "svc_streams") + _measure(narrow, "svc_waiting") == 4)
    assert _measure(narrow, "svc_waiting") > 0
    for client in clients:
        client.close()
    eventually(lambda: (_measure(narrow, "svc_streams"), _measure(narrow, "svc_waiting")) == (0, 0))


def test_a_key_cannot_take_all(phonemizer: Phonemizer) -> None:
    with running(phonemizer, api_keys="first,second", max_streams=4, queue_seconds=0.2) as service:
        service.engine.may_speak.clear()
        with service.open("multi-stream-input", {"xi-api-key": "first"}) as caller:
            for name in "abcd":
                caller.send({"text": SENTENCE, "context_id": name, "flush": True})
            refused = caller.until(lambda frame: "error" in frame)[-1]
            assert (refused["context_id"], refused["error"]) == ("d", "too_many_concurrent_requests")
            service.engine.may_speak.set()
            response = _post(service, SENTENCE, key="second")
            assert response.status_code == 200
            assert response.headers["maximum-concurrent-requests"] == "3"


def test_characters_of_a_minute(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_characters_per_minute=50) as service:
        assert _post(service, "a" * 40).status_code == 200
        refused = _post(service, "a" * 40)
        assert (refused.status_code, refused.json()["detail"]["status"]) == (429, "rate_limit_exceeded")
        assert 0 < int(refused.headers["retry-after"]) <= 120
        with service.open("stream-input") as caller:
            caller.send({"text": "b" * 40, "flush": True})
            assert caller.rest()[-1]["error"] == "rate_limit_exceeded"
            assert caller.close_code == 1013


BREAKS = "a<break time='10s'/>" * 50


def test_breaks_that_are_too_long_together_are_refused_before_the_work(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_audio_seconds=60) as service:
        for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps"):
            response = _post(service, BREAKS, path)
            assert (response.status_code, response.json()["detail"]["code"]) == (400, "max_audio_seconds_exceeded")
        assert service.engine.chunks == 0
        assert _post(service, "a<break time='10s'/>" * 5).status_code == 200


def test_audio_that_becomes_too_long_stops_there(phonemizer: Phonemizer) -> None:
    long = SENTENCE * 20
    with running(phonemizer, max_audio_seconds=10) as service:
        assert _post(service, long).json()["detail"]["status"] == "max_audio_seconds_exceeded"
        url = f"{service.address}{PATH}/stream?output_format=pcm_24000"
        with pytest.raises(httpx.RemoteProtocolError), httpx.stream("POST", url, json={"text": long}) as response:
            for _ in response.iter_raw():
                pass
        with service.open("stream-input") as caller:
            caller.send({"text": long, "flush": True})
            assert caller.rest()[-1]["error"] == "max_audio_seconds_exceeded"
        with service.open("stream-input") as caller:  # a long conversation is not one long text
            for _ in range(20):
                caller.send({"text": SENTENCE, "flush": True})
            caller.send({"text": ""})
            assert caller.rest()[-1].get("isFinal")


def test_a_clip_is_held_once(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    pipeline, clip = Pipeline(FakeEngine(), phonemizer), Clip()
    request = SynthesisRequest(SENTENCE * 200, voices.default)
    tracemalloc.start()
    try:
        for _ in pipeline.render(request, formats.find("wav_48000"), clip):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert clip.length > 20_000_000
    assert peak < 1.3 * clip.length
