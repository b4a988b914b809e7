"""What clients should not send: an error that can be read, the right close code, and no harm to anybody else."""

import json
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.api.realtime.conftest import Running, eventually, join_characters, running

KINDS = ["stream-input", "multi-stream-input"]
DEEP = "[" * 100_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ("hello", "invalid_input_message", 1008),
        ("", "invalid_input_message", 1008),
        ("[]", "invalid_input_message", 1008),
        ('"text"', "invalid_input_message", 1008),
        (DEEP, "invalid_input_message", 1008),
        ('{"text": 5}', "invalid_input_message", 1008),
        ('{"text": ["a"]}', "invalid_input_message", 1008),
        ('{"text": "a", "flush": "perhaps"}', "invalid_input_message", 1008),
        ('{"text": "a", "voice_settings": "loud"}', "invalid_input_message", 1008),
        ('{"text": "a", "generation_config": {"chunk_length_schedule": 5}}', "invalid_input_message", 1008),
        ('{"text": "a", "context_id": {"a": 1}}', "invalid_input_message", 1008),
        (json.dumps({"text": "a" * 1_500_000}), "message_too_large", 1009),
        (json.dumps({"text": "word " * 9_000}), "max_character_limit_exceeded", 1008),
        (b"\x00\x01", "invalid_input_message", 1003),
    ],
)
def test_what_is_not_understood(service: Running, kind: str, sent: str | bytes, status: str, code: int) -> None:
    with service.open(kind) as caller:
        caller.socket.send(sent)
        (frame,) = caller.rest()
        assert (frame["error"], frame["code"], caller.close_code) == (status, code, code)
        assert frame["message"]
        assert frame["audio"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_larger_than_anybody_may_send(service: Running, kind: str) -> None:
    with service.open(kind) as caller:
        with suppress(ConnectionClosed):  # the server may refuse it before it has arrived
            caller.socket.send(json.dumps({"text": "a" * 3_000_000}))
        assert caller.rest() == []
        assert caller.close_code == 1009


def test_a_message_without_text(service: Running) -> None:
    with service.open("stream-input") as caller:
        (frame,) = caller.send({"text": " "}, {"unknown": 1}).rest()
        assert (frame["error"], caller.close_code) == ("invalid_input_message", 1008)
    with service.open("multi-stream-input") as caller:
        (frame,) = caller.send({"text": " ", "context_id": "a"}, {"context_id": "a", "unknown": 1}).rest()
        assert (frame["error"], caller.close_code) == ("invalid_input_message", 1008)


def test_what_is_unknown_or_null_is_ignored(service: Running) -> None:
    with service.open("stream-input") as caller:
        caller.send({
            "text": "Hello.", "unknown": {"deep": [1]}, "flush": None, "voice_settings": {"stability": "much"},
            "generation_config": {"chunk_length_schedule": [None, -5, "70", 1e9]}, "try_trigger_generation": "x",
        })  # fmt: skip
        assert join_characters(caller.send({"text": ""}).rest()) == "Hello."
        assert caller.close_code == 1000


def test_after_the_end_everything_is_ignored(service: Running) -> None:
    with service.open("stream-input") as caller:
        service.engine.may_speak.clear()
        caller.send({"text": "Hello."}, {"text": ""}, {"text": ""}, {"text": "more"}, {"text": 5})
        caller.socket.send("not JSON")
        caller.socket.send(b"binary")
        service.engine.may_speak.set()
        assert join_characters(caller.rest()) == "Hello."
        assert caller.close_code == 1000


def test_characters_that_are_none(service: Running) -> None:
    with service.open("stream-input") as caller:
        caller.socket.send('{"text": "Hello\\ud800 \\u0000 world."}')
        assert "Hello" in join_characters(caller.send({"text": ""}).rest())
        assert caller.close_code == 1000


@pytest.mark.parametrize("kind", KINDS)
def test_a_format_that_there_is_not(service: Running, kind: str) -> None:
    with service.open(kind, output_format="mp4_1") as caller:
        (frame,) = caller.rest()
        assert (frame["error"], frame["param"], caller.close_code) == ("invalid_output_format", "output_format", 1008)


@pytest.mark.parametrize("kind", KINDS)
def test_a_voice_that_there_is_not(service: Running, phonemizer: Any, kind: str) -> None:
    with service.open(kind, voice="nobody") as caller:
        caller.send({"text": "Hello.", "context_id": "a", "flush": True})
        assert "H" in join_characters([caller.next()])
    with running(phonemizer, strict_voices=True) as strict, strict.open(kind, voice="nobody") as caller:
        (frame,) = caller.rest()
        assert (frame["error"], caller.close_code) == ("voice_not_found", 1008)


_VALUES: list[Any] = [
    "", " ", "a", "Hello there. ", "z" * 500, "<break time='1s'/>", "\ud800", "😀", None, True, False, 0, -1, 3.5,
    1e308, float("nan"), [], [1, "2"], {}, {"speed": 9}, {"chunk_length_schedule": [1]}, "a" * 250,
]  # fmt: skip
_KEYS = [
    "text", "text", "text", "flush", "voice_settings", "generation_config", "context_id", "context_id", "close_context",
    "close_socket", "try_trigger_generation", "authorization", "xi_api_key", "unknown",
]  # fmt: skip


def _random_frame(chance: random.Random) -> str | bytes:
    if chance.random() < 0.03:
        return chance.randbytes(chance.randrange(40))
    if chance.random() < 0.03:
        return chance.choice(["", "{", "null", "[1]", "\x00", '{"text"', '{"text": "a"} trailing', "1" * 5000])
    fields = {chance.choice(_KEYS): chance.choice(_VALUES) for _ in range(chance.randrange(1, 4))}
    if chance.random() < 0.6:  # mostly what is nearly right, so that sockets live long enough
        fields = {"text": chance.choice(["Hello ", "there. ", " ", "x"]), "context_id": chance.choice("abc")}
        fields |= {key: True for key in ("flush", "close_context") if chance.random() < 0.1}
    return json.dumps(fields)


@pytest.mark.slow
def test_thousands_of_random_frames(service: Running) -> None:
    chance = random.Random(4)
    sent = 0
    codes = Counter[int | None]()
    with service.open("multi-stream-input") as bystander:
        bystander.send({"text": "Before. ", "context_id": "a"})
        while sent < 3000:
            with service.open(chance.choice(KINDS), sync_alignment=chance.choice(["true", "x"])) as caller:
                with suppress(ConnectionClosed):
                    for _ in range(chance.randrange(1, 40)):
                        caller.socket.send(_random_frame(chance))
                        sent += 1
                if chance.random() < 0.3:
                    caller.socket.socket.close()
                else:
                    with suppress(ConnectionClosed):
                        caller.socket.send("the last straw")
                    caller.rest()
                    codes[caller.close_code] += 1
        bystander.send({"text": "After.", "context_id": "a", "flush": True}, {"context_id": "a", "close_context": True})
        assert join_characters(bystander.until(lambda frame: bool(frame.get("isFinal")))).split() == [
            "Before.",
            "After.",
        ]
    assert set(codes) <= {1000, 1003, 1008}
    assert codes[1008] > 30
    eventually(lambda: service.sockets() == 0)
    assert httpx.get(f"{service.address}/health").json() == {"status": "ready"}
    with service.open("stream-input") as caller:
        assert join_characters(caller.send({"text": "Hello."}, {"text": ""}).rest()) == "Hello."
