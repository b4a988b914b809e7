"""`…/multi-stream-input`: several texts on one socket."""

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from svc.api.realtime.speech import MAX_CONTEXTS
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Frame, Running, audio, join_characters, running

LONG = "This is a long sentence that goes on and on. " * 12


def _of(frames: list[Frame], context: str) -> list[Frame]:
    return [frame for frame in frames if frame["contextId"] == context]


def _final(frame: Frame) -> bool:
    return bool(frame.get("isFinal"))


def _say(context: str, text: str) -> list[Frame]:
    """A whole turn, as frameworks send it."""
    return [
        {"text": " ", "context_id": context, "voice_settings": {}},
        {"text": text, "context_id": context},
        {"context_id": context, "flush": True},
        {"context_id": context, "close_context": True},
    ]


def test_a_turn(service: Running) -> None:
    with service.open("multi-stream-input", auto_mode="true") as caller:
        *sound, final = caller.send(*_say("a", "Hello there.")).until(_final)
        assert join_characters(sound) == " Hello there. "
        assert all(frame["contextId"] == "a" and frame["isFinal"] is None and frame["audio"] for frame in sound)
        assert final["audio"] is None
        assert (final["contextId"], final["context_id"], final["is_final"]) == ("a", "a", True)


def test_contexts_speak_side_by_side_each_with_its_settings(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        for context, speed in (("slow", 0.5), ("fast", 2.0)):
            caller.send({"text": " ", "context_id": context, "voice_settings": {"speed": speed}})
        for context in ("slow", "fast"):
            caller.send({"text": LONG, "context_id": context, "flush": True})
            caller.send({"context_id": context, "close_context": True})
        frames = caller.until(_final) + caller.until(_final)
        assert join_characters(_of(frames, "slow")) == join_characters(_of(frames, "fast")) == " " + LONG
        assert len(audio(_of(frames, "slow"))) > 3 * len(audio(_of(frames, "fast")))
        order = [frame["contextId"] for frame in frames]
        assert order.index("fast") < len(order) - 1 - order[::-1].index("slow")


def test_only_a_close_ends_a_context(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        caller.send({"text": "one two ", "context_id": "a"}, {"context_id": "a", "flush": True})
        caller.send({"text": "", "context_id": "a"}, {"text": ""})  # to keep the socket alive
        caller.send({"text": "three", "context_id": "a", "flush": True}, {"context_id": "a", "close_context": True})
        frames = caller.until(_final)
        assert join_characters(frames) == "one two three"
        assert [_final(frame) for frame in frames].count(True) == 1


def test_a_context_that_is_closed_without_a_flush_falls_silent_at_once(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "context_id": "dropped"}, *_say("kept", "Hello there."))
        before = service.engine.chunks
        caller.send({"context_id": "dropped", "close_context": True})
        assert _final(caller.next())
        service.engine.may_speak.set()
        frames = caller.until(_final)
        assert {frame["contextId"] for frame in frames} == {"kept"}
        assert join_characters(frames).strip() == "Hello there."
        assert service.engine.chunks - before <= 3


def test_what_was_flushed_is_spoken_and_what_was_not_is_dropped(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": "Flushed text. ", "context_id": "a", "flush": True})
        caller.send({"text": "Text that was not. And more of it.", "context_id": "a"})
        caller.send({"context_id": "a", "close_context": True})
        service.engine.may_speak.set()
        assert join_characters(caller.until(_final)) == "Flushed text. "


def test_a_second_close_breaks_off_what_was_flushed(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send(*_say("a", LONG), *_say("b", "Hello there."))
        before = service.engine.chunks
        caller.send({"context_id": "a", "close_context": True})  # somebody interrupts
        assert _final(caller.next())
        service.engine.may_speak.set()
        assert join_characters(caller.until(_final)).strip() == "Hello there."
        assert service.engine.chunks - before <= 3


def test_an_id_can_be_used_again(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send(*_say("a", "The first text."), *_say("a", "The second text."))
        service.engine.may_speak.set()
        assert join_characters(caller.until(_final)).strip() == "The first text."
        assert join_characters(caller.until(_final)).strip() == "The second text."


def test_what_was_closed_or_never_was_can_be_closed_again(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        caller.send({"context_id": "x", "close_context": True}, {"context_id": "x", "flush": True})
        caller.send({"text": "", "context_id": "x"})
        caller.send(*_say("a", "Hello."), {"context_id": "a", "close_context": True}, *_say("b", "Hello."))
        frames = caller.until(_final) + caller.until(_final)
        assert Counter(frame["contextId"] for frame in frames if _final(frame)) == {"a": 1, "b": 1}


def test_closing_the_socket_finishes_what_was_flushed(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        caller.send({"text": "Spoken. ", "context_id": "a", "flush": True}, {"text": "Not spoken", "context_id": "b"})
        caller.send({"close_socket": True}, {"text": "too late", "context_id": "c"})
        frames = caller.rest()
        assert caller.close_code == 1000
        assert join_characters(_of(frames, "a")) == "Spoken. "
        assert join_characters(_of(frames, "b")) == ""


def test_a_message_without_an_id_has_a_context_too(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        caller.send({"text": "Hello.", "flush": True}, {"close_context": True})
        assert {frame["contextId"] for frame in caller.until(_final)} == {"default"}


@pytest.mark.parametrize("auto_mode", ["true", "false"])
def test_sentences_without_a_space_between_them_are_not_run_together(service: Running, auto_mode: str) -> None:
    with service.open("multi-stream-input", auto_mode=auto_mode) as caller:
        caller.send({"text": " ", "context_id": "a"})
        caller.send({"text": "Hello there.", "context_id": "a"}, {"text": "How are you?", "context_id": "a"})
        caller.send({"context_id": "a", "flush": True}, {"context_id": "a", "close_context": True})
        assert join_characters(caller.until(_final)) == " Hello there. How are you? "


@pytest.mark.parametrize("auto_mode", ["true", "false"])
def test_words_in_pieces_are_not_torn_apart(service: Running, auto_mode: str) -> None:
    text = "The U.S. economy grew by 3.5 per cent, e.g. in Ohio. Then it did not."
    with service.open("multi-stream-input", auto_mode=auto_mode) as caller:
        caller.send(*({"text": letter, "context_id": "a"} for letter in text))
        caller.send({"context_id": "a", "flush": True}, {"context_id": "a", "close_context": True})
        assert join_characters(caller.until(_final)) == text


def test_there_can_be_too_many_contexts(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        caller.send(*({"text": " ", "context_id": f"c{index}"} for index in range(1000)))
        errors = [caller.next() for _ in range(1000 - MAX_CONTEXTS)]
        assert {error["error"] for error in errors} == {"too_many_contexts"}
        assert errors[0]["contextId"] == f"c{MAX_CONTEXTS}"
        caller.send({"text": "Still here.", "context_id": "c0", "flush": True})
        assert "S" in join_characters([caller.next()])


def test_an_engine_that_fails_takes_one_context_with_it(service: Running) -> None:
    with service.open("multi-stream-input") as caller, service.open("stream-input") as bystander:
        caller.send(*_say("broken", "An azure pleasure."))
        error, final = caller.next(), caller.next()
        assert (error["error"], error["contextId"], error["audio"]) == ("internal_error", "broken", None)
        assert _final(final)
        assert join_characters(caller.send(*_say("whole", "Hello there.")).until(_final)).strip() == "Hello there."
        bystander.send({"text": "Hello."}, {"text": ""})
        assert join_characters(bystander.rest()) == "Hello."


@pytest.fixture
def guarded(phonemizer: Phonemizer) -> Iterator[Running]:
    with running(phonemizer, api_key="right") as service:
        yield service


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"xi-api-key": "wrong"}, {}),
        ({"authorization": "Bearer wrong"}, {}),
        ({}, {"authorization": "Bearer wrong"}),
        ({}, {"single_use_token": "wrong"}),
    ],
)
def test_a_wrong_key_is_refused_with_the_handshake(guarded: Running, headers: Frame, query: Frame) -> None:
    with pytest.raises(InvalidStatus) as refusal, guarded.open("multi-stream-input", headers, **query):
        pass
    assert refusal.value.response.status_code == 401
    assert refusal.value.response.headers["x-trace-id"]
    assert b'"invalid_api_key"' in refusal.value.response.body


def test_a_key_can_come_with_the_first_message(guarded: Running) -> None:
    with guarded.open("multi-stream-input") as caller:
        caller.send({"text": "Hello.", "context_id": "a", "xi_api_key": "right"})
        caller.send({"context_id": "a", "flush": True}, {"context_id": "a", "close_context": True})
        assert join_characters(caller.until(_final)).strip() == "Hello."


@pytest.mark.parametrize(("given", "status"), [({"xi_api_key": "wrong"}, "invalid_api_key"), ({}, "missing_api_key")])
def test_without_one_the_socket_is_closed(guarded: Running, given: Frame, status: str) -> None:
    with guarded.open("multi-stream-input") as caller:
        (frame,) = caller.send({"text": " ", "context_id": "a", **given}).rest()
        assert (frame["error"], frame["code"], caller.close_code) == (status, 1008, 1008)


def test_a_client_that_hangs_up_is_forgotten_in_mid_sentence(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "context_id": "a"}, {"text": LONG, "context_id": "b"})
        before = service.engine.chunks
        caller.socket.socket.close()
    service.engine.may_speak.set()
    # The rest is asserted after every test: no socket is left.
    httpx.get(f"{service.address}/health")
    assert service.engine.chunks - before < 8


def test_pings_are_answered_while_the_engine_works(service: Running) -> None:
    with service.open("multi-stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": LONG, "context_id": "a"})
        assert caller.socket.ping().wait(timeout=120)
        caller.send({"text": LONG, "context_id": "a"})
        assert caller.socket.ping().wait(timeout=120)
