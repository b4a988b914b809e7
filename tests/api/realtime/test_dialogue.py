"""`/v1/text-to-dialogue/stream-input` and `…/multi-stream-input`."""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from svc.api.realtime.dialogue import MAX_CONTEXTS
from svc.synthesis.request import TURN_PAUSE_SECONDS
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Frame, Running, audio, eventually, join_characters, running

ONE, MULTI = "dialogue/stream-input", "dialogue/multi-stream-input"
VOICES = ["af_heart", "bm_george"]
LONG = "This is a long sentence that goes on and on. " * 12


def _final(frame: Frame) -> bool:
    return bool(frame.get("is_final"))


def _input(text: str, voice: str = "af_heart", **fields: object) -> Frame:
    return {"inputs": [{"text": text, "voice_id": voice, **fields}]}


def _of(frames: list[Frame], context: str) -> list[Frame]:
    return [frame for frame in frames if frame["context_id"] == context]


def _kinds(frames: list[Frame]) -> list[str]:
    """The frames by what they say, with runs of audio as one."""
    names = ["audio" if "audio" in each else next(iter(each)) for each in frames]
    return [name for before, name in pairwise([None, *names]) if name and not before == name == "audio"]


def test_a_dialogue(service: Running) -> None:
    with service.open(ONE, sync_alignment="true") as caller:
        caller.send({"voices": VOICES, "voice_settings": {"stability": 0.5}})
        caller.send(_input("Hello there. ", new_turn=True), _input("Who is there?", "bm_george"), _input("Me."))
        frames = caller.send({"close_socket": True}).rest()
    assert _kinds(frames) == [*["audio", "is_final_audio_for_turn"] * 3, "is_final"]
    assert all(frame.keys() <= {"audio", "alignment", "is_final", "is_final_audio_for_turn"} for frame in frames)
    assert join_characters(frames) == "Hello there. Who is there?Me."
    assert caller.close_code == 1000


def test_times_count_from_the_beginning_of_each_message(service: Running) -> None:
    """Clients add them up, some by the audio, others by the times: both come to the same."""
    with service.open(ONE, sync_alignment="true") as caller:
        caller.send({"voices": VOICES}, _input("Hello <break time='0.5s'/> there. It is late, isn't it? "))
        caller.send(_input("Who is there? <break time='0.5s'/> Who?", "bm_george"), {"close_socket": True})
        received = [frame for frame in caller.rest() if "audio" in frame]
    frames = [frame for frame in received if "alignment" in frame]
    for frame in frames:
        alignment = frame["alignment"]
        end = next((i for i in range(received.index(frame) + 1, len(received)) if received[i] in frames), len(received))
        sound = audio(received[received.index(frame) : end])  # long audio comes in several messages
        assert set(alignment) == {"chars", "char_start_times_ms", "char_durations_ms"}
        starts, lengths = alignment["char_start_times_ms"], alignment["char_durations_ms"]
        assert len(alignment["chars"]) == len(starts) == len(lengths)
        assert starts[-1] + lengths[-1] == pytest.approx(len(sound) / 48, abs=2)
        spans = [time for pair in zip(starts, lengths, strict=True) for time in (pair[0], sum(pair))]
        assert spans == sorted(spans)
    begins = [frame["alignment"]["char_start_times_ms"][0] for frame in frames]
    # A codec holds back a few milliseconds, so that a character may begin within the message.
    assert [begin for begin in begins if begin > 20] == [round(1000 * TURN_PAUSE_SECONDS)], "before the other voice"


def test_alignment_only_when_it_was_asked_for(service: Running) -> None:
    with service.open(ONE) as caller:
        frames = caller.send({"voices": VOICES}, _input("Hello there."), {"close_socket": True}).rest()
    assert all("alignment" not in frame for frame in frames)
    assert audio(frames)


def test_sockets_and_http_speak_alike(service: Running) -> None:
    inputs = [{"text": "Hello there. ", "voice_id": "af_heart"}, {"text": "Who is there? ", "voice_id": "bm_george"}]
    url = f"{service.address}/v1/text-to-dialogue?output_format=pcm_24000"
    clip = httpx.post(url, json={"inputs": inputs}, timeout=300).content
    with service.open(ONE) as caller:
        caller.send({"voices": VOICES}, {"inputs": inputs}, {"close_socket": True})
        assert audio(caller.rest()) == clip


def test_the_first_message_may_bring_text(service: Running) -> None:
    with service.open(ONE, sync_alignment="true") as caller:
        caller.send({"voices": VOICES, **_input("Hello."), "close_socket": True})
        assert join_characters(caller.rest()) == "Hello."


def test_a_sentence_a_turn_or_a_flush_is_spoken_at_once(service: Running) -> None:
    with service.open(ONE, sync_alignment="true") as caller:
        caller.send({"voices": VOICES}, _input("Hello there."))
        assert join_characters(caller.until(lambda frame: "." in join_characters([frame]))) == "Hello there."
        caller.send(_input(" half a"), _input("", "bm_george", new_turn=True))
        assert join_characters(caller.until(lambda frame: "is_final_audio_for_turn" in frame)) == " half a"
        caller.send(_input("no end", "bm_george"), {"flush": True}, _input("", "bm_george"))
        assert join_characters(caller.until(lambda frame: "is_final_audio_for_turn" in frame)) == "no end"
        assert _kinds(caller.send({"close_socket": True}).rest()) == ["is_final"]


def test_inputs_of_one_voice_are_joined_as_they_are(service: Running) -> None:
    text = "The U.S. economy grew by 3.5 per cent, e.g. in Ohio. Then it did not."
    with service.open(ONE, sync_alignment="true") as caller, service.open(ONE, sync_alignment="true") as other:
        caller.send({"voices": VOICES}, *(_input(letter) for letter in text), {"close_socket": True})
        other.send({"voices": VOICES}, _input(text), {"close_socket": True})
        letters, whole = caller.rest(), other.rest()
    assert join_characters(letters) == text
    assert audio(letters) == audio(whole)


INVALID: list[tuple[list[Frame], str]] = [
    ([_input("Hello.")], "voices"),
    ([{"voices": []}, _input("Hello.")], "voices"),
    ([{"voices": [str(index) for index in range(11)]}], "voices"),
    ([{"voices": VOICES}, _input("Hello.", "am_adam")], "voice_id"),
    ([{"voices": VOICES}, {"inputs": [{"text": "Hello."}]}], "inputs.0.voice_id"),
    ([{"voices": VOICES}, {"inputs": "Hello."}], "inputs"),
]


@pytest.mark.parametrize(
    ("kind", "messages", "param"),
    [
        *((kind, *each) for kind in (ONE, MULTI) for each in INVALID),
        (ONE, [{"flush": True}], "voices"),  # with several, it may be meant for a context that has ended
    ],
)
def test_invalid_messages(service: Running, kind: str, messages: list[Frame], param: str) -> None:
    with service.open(kind) as caller:
        (frame,) = caller.send(*({"context_id": "a", **message} for message in messages)).rest()
        assert frame.keys() == {"message", "error", "code", "param"}
        assert (frame["error"], frame["code"], frame["param"]) == ("invalid_input_message", 1008, param)
        assert (caller.close_code, caller.socket.close_reason) == (1008, frame["message"])


def test_contexts_side_by_side(service: Running) -> None:
    with service.open(MULTI, sync_alignment="true") as caller:
        for context in "ab":
            caller.send({"context_id": context, "voices": VOICES})
        for context in "ab":
            caller.send({"context_id": context, **_input(f"This is {context}. ")})
            caller.send({"context_id": context, **_input("Is it so? and more", "bm_george")})
        caller.send({"context_id": "a", "close_context": True})
        first = caller.until(_final)
        caller.send({"context_id": "b", "close_context": True})
        frames = [*first, *caller.until(_final)]
        for context in "ab":
            own = _of(frames, context)
            assert join_characters(own) == f"This is {context}. Is it so? and more", "also what was not flushed"
            assert _kinds(own) == [*["audio", "is_final_audio_for_turn"] * 2, "is_final"]
        caller.send({"context_id": "a", "voices": VOICES}, {"context_id": "a", **_input("Again.")})
        frames = caller.send({"close_socket": True}).rest()
        assert join_characters(frames) == "Again."
        assert (_kinds(frames)[-1], caller.close_code) == ("is_final", 1000)


def test_messages_to_nobody(service: Running) -> None:
    with service.open(MULTI) as caller:
        for late in ({"flush": True}, {"keep_alive": True}, {"close_context": True}):
            caller.send({"context_id": "gone", **late})
        caller.send({"context_id": "a", "voices": VOICES}, {"context_id": "a", "close_context": True})
        assert caller.next() == {"context_id": "a", "is_final": True}
        (error,) = caller.send({"voices": VOICES}).rest()
        assert (error["param"], caller.close_code) == ("context_id", 1008)


def test_a_sixth_context_is_refused_and_the_others_go_on(service: Running) -> None:
    with service.open(MULTI, sync_alignment="true") as caller:
        for context in range(MAX_CONTEXTS + 1):
            caller.send({"context_id": str(context), "voices": VOICES})
            caller.send({"context_id": str(context), **_input(f"Number {context}"), "flush": True})
        last = str(MAX_CONTEXTS)
        error = caller.until(lambda frame: "error" in frame)[-1]
        assert (error["error"], error["context_id"], error["code"]) == ("too_many_contexts", last, 1008)
        caller.send({"context_id": "0", "close_context": True})
        caller.until(lambda frame: _final(frame) and frame["context_id"] == "0")
        caller.send({"context_id": last, "voices": VOICES}, {"context_id": last, **_input("Now."), "flush": True})
        caller.send({"close_socket": True})
        assert join_characters(_of(caller.rest(), last)) == "Now."


def test_unknown_voices_in_strict_mode(phonemizer: Phonemizer) -> None:
    with running(phonemizer, strict_voices=True) as service:
        with service.open(ONE) as caller:
            (error,) = caller.send({"voices": ["af_heart", "nobody"]}).rest()
            assert (error["error"], error["code"], caller.close_code) == ("voice_not_found", 1008, 1008)
        with service.open(MULTI, sync_alignment="true") as caller:
            caller.send({"context_id": "a", "voices": ["nobody"]}, {"context_id": "a", **_input("Hi.", "nobody")})
            error = caller.next()
            assert (error["error"], error["context_id"]) == ("voice_not_found", "a")
            caller.send({"context_id": "b", "voices": VOICES}, {"context_id": "b", **_input("Hello.")})
            assert join_characters(caller.send({"close_socket": True}).rest()) == "Hello."


def test_a_second_close_cancels(service: Running) -> None:
    with service.open(MULTI) as caller:
        service.engine.may_speak.clear()
        caller.send({"context_id": "a", "voices": VOICES}, {"context_id": "a", **_input(LONG)})
        before = service.engine.chunks
        caller.send({"context_id": "a", "close_context": True}, {"context_id": "a", "close_context": True})
        assert _final(caller.next())
        service.engine.may_speak.set()
    assert service.engine.chunks - before <= 3


def test_an_engine_that_fails_takes_one_context_with_it(service: Running) -> None:
    with service.open(MULTI, sync_alignment="true") as caller:
        for context in "ab":
            caller.send({"context_id": context, "voices": VOICES})
        caller.send({"context_id": "a", **_input("An azure pleasure.")})
        error, final = caller.next(), caller.next()
        assert (error["error"], error["context_id"], error["code"]) == ("internal_error", "a", 1011)
        assert final == {"context_id": "a", "is_final": True}
        caller.send({"context_id": "b", **_input("Hello there.")}, {"close_socket": True})
        assert join_characters(caller.rest()) == "Hello there."


@pytest.mark.slow
def test_a_context_without_messages_ends_and_keep_alive_prevents_it(service: Running) -> None:
    with service.open(MULTI, sync_alignment="true", inactivity_timeout="3") as caller:
        for context in ("idle", "kept"):
            caller.send({"context_id": context, "voices": VOICES}, {"context_id": context, **_input("One two")})
        frames: list[Frame] = []
        while not any(map(_final, frames)):
            caller.send({"context_id": "kept", "keep_alive": True})
            with suppress(TimeoutError):
                frames.append(json.loads(caller.socket.recv(timeout=0.5)))
        assert {frame["context_id"] for frame in frames} == {"idle"}
        assert join_characters(frames) == "One two"
        *spoken, final, error = caller.rest()
        assert join_characters(spoken) == "One two", "what is buffered is spoken when the socket ends"
        assert (final, error["error"]) == ({"context_id": "kept", "is_final": True}, "input_timeout_exceeded")
        assert caller.close_code == 1008


@pytest.fixture
def guarded(phonemizer: Phonemizer) -> Iterator[Running]:
    with running(phonemizer, api_key="right") as service:
        yield service


def test_keys(guarded: Running) -> None:
    hello = {"context_id": "a", "voices": VOICES, **_input("Hello."), "close_socket": True}
    for kind in (ONE, MULTI):
        for headers, given in (
            ({"xi-api-key": "right"}, {}),
            ({}, {"xi_api_key": "right"}),
            ({}, {"authorization": "Bearer right"}),
        ):
            with guarded.open(kind, headers) as caller:
                assert audio(caller.send({**hello, **given}).rest())
        with guarded.open(kind) as caller:
            (error,) = caller.send({**hello, "single_use_token": "wrong"}).rest()
            assert (error["error"], error["code"], caller.close_code) == ("invalid_api_key", 1008, 1008)
    with guarded.open(ONE, {"xi-api-key": "wrong"}) as caller:
        assert caller.send(hello).rest()[0]["error"] == "invalid_api_key"
    with pytest.raises(InvalidStatus) as refusal, guarded.open(MULTI, {"xi-api-key": "wrong"}):
        pass
    assert refusal.value.response.status_code == 401


def test_contexts_count_as_streams_while_they_speak(phonemizer: Phonemizer) -> None:
    with running(phonemizer, max_streams=1, queue_seconds=0.2) as service, service.open(MULTI) as caller:
        service.engine.may_speak.clear()
        for context in "ab":
            caller.send({"context_id": context, "voices": VOICES}, {"context_id": context, **_input("Hello there.")})
        error = caller.next()
        assert (error["error"], error["context_id"]) == ("too_many_concurrent_requests", "b")
        service.engine.may_speak.set()
        caller.send({"close_socket": True})
        assert audio(_of(caller.rest(), "a"))


def test_a_shutdown_finishes_dialogues(phonemizer: Phonemizer) -> None:
    with running(phonemizer) as service, service.open(MULTI, sync_alignment="true") as caller:
        service.engine.may_speak.clear()
        caller.send({"context_id": "a", "voices": VOICES}, {"context_id": "a", **_input("Hello there, and so on")})
        assert caller.socket.ping().wait(timeout=120)
        eventually(lambda: not any(session.makes_way for session in service.server._connections._connected))
        service.server.should_exit = True
        service.engine.may_speak.set()
        frames = caller.rest()
        assert join_characters(frames) == "Hello there, and so on"
        assert (_kinds(frames)[-1], caller.close_code) == ("is_final", 1012)
