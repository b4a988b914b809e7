"""Wyoming, with the client of the package: texts whole and in pieces, errors, limits, and the end of the server."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

from svc.app import create_app
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.store import VoiceStore
from tests.clients.conftest import KEY, serving, wait_until_ready
from tests.voices.examples import make_voice

TEXT = "The quick brown fox jumps over the lazy dog. It never looks back."
HEARD = "the quick brown fox jumps over the lazy dog it never looks back"
PATIENCE = 120


@contextmanager
def serving_wyoming(settings: Settings, pipeline: Pipeline) -> Iterator[int]:
    """A running server; the port on which it speaks Wyoming."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        serving(create_app(settings, pipeline, wyoming_socket=listening)) as address,
    ):
        wait_until_ready(address)
        yield listening.getsockname()[1]


@asynccontextmanager
async def connect(port: int) -> AsyncIterator[AsyncTcpClient]:
    async with asyncio.timeout(PATIENCE), AsyncTcpClient("127.0.0.1", port) as client:
        yield client


async def read_until(client: AsyncTcpClient, is_last: Callable[[str], bool]) -> list[Event]:
    events = []
    while (event := await client.read_event()) is not None:
        events.append(event)
        if is_last(event.type):
            break
    return events


def join(events: list[Event]) -> Samples:
    """The audio between `audio-start` and `audio-stop`."""
    assert AudioStart.is_type(events[0].type)
    start = AudioStart.from_event(events[0])
    assert (start.rate, start.width, start.channels) == (24_000, 2, 1)
    chunks = [AudioChunk.from_event(event) for event in events if AudioChunk.is_type(event.type)]
    position = 0
    for chunk in chunks:
        assert chunk.timestamp == 1000 * position // 24_000
        position += chunk.samples
    audio = np.frombuffer(b"".join(chunk.audio for chunk in chunks), "<i2")
    return (audio / 32_768).astype(np.float32)


async def speak(port: int, text: str, voice: SynthesizeVoice | None = None) -> list[Event]:
    async with connect(port) as client:
        await client.write_event(Synthesize(text, voice).event())
        return await read_until(client, AudioStop.is_type)


@pytest.fixture(scope="module")
def port(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), strict_voices=True, max_characters=200)
    with serving_wyoming(settings, Pipeline(FakeEngine(), phonemizer)) as port:
        yield port


def test_every_voice_is_described(port: int) -> None:
    async def describe() -> Info:
        async with connect(port) as client:
            await client.write_event(Describe().event())
            event = await client.read_event()
            assert event is not None
            await client.write_event(Ping("hello").event())
            pong = await client.read_event()
            assert pong is not None
            assert Pong.from_event(pong).text == "hello"
            return Info.from_event(event)

    (program,) = asyncio.run(describe()).tts
    assert (program.name, program.installed, program.supports_synthesize_streaming) == ("svc", True, True)
    voices = {voice.name: voice for voice in program.voices}
    assert len(voices) == 54
    assert voices["bm_george"].languages[0] == "en-GB"
    assert "fr-FR" not in voices["bm_george"].languages
    assert voices["bm_george"].description == "George (british, male)"
    assert {language for voice in program.voices for language in voice.languages} >= {"en-US", "ja-JP", "fr-FR"}


def test_voices_are_chosen_by_name_language_or_mix(port: int) -> None:
    async def first_chunks() -> dict[str, bytes]:
        voices = {
            "default": None,
            "name": SynthesizeVoice(name="bm_george"),
            "mix": SynthesizeVoice(name="bm_george(2)+af_heart"),
            "language": SynthesizeVoice(language="fr"),
            "own language": SynthesizeVoice(language="en"),
        }
        return {
            name: b"".join(event.payload or b"" for event in await speak(port, "Hello.", voice))
            for name, voice in voices.items()
        }

    audio = asyncio.run(first_chunks())
    assert audio["default"] == audio["own language"]
    assert len({audio[name] for name in ("default", "name", "mix", "language")}) == 4


def test_a_language_chooses_no_voice_of_another_key(phonemizer: Phonemizer, tmp_path: Path) -> None:
    """No built-in voice is German, so the first German clone that is shared speaks for the language."""
    german = SynthesizeVoice(language="de")

    def speak_german(sharing: str) -> bytes:
        settings = Settings.model_validate({"data_dir": tmp_path, "voice_sharing": sharing})
        with serving_wyoming(settings, Pipeline(FakeEngine(), phonemizer)) as port:
            events = asyncio.run(speak(port, "Hallo.", german))
        return b"".join(event.payload or b"" for event in events)

    default = speak_german("private")
    clone = replace(make_voice("Anna's", key_id="0123456789ab", reference=None), language=Language.GERMAN)
    VoiceStore(tmp_path / "voices").add(clone, None)
    assert speak_german("private") == default
    assert speak_german("shared") != default


def test_a_text_in_pieces_is_spoken_once(port: int) -> None:
    async def stream() -> list[Event]:
        """As Home Assistant does: the whole text follows, for servers that take no pieces."""
        async with connect(port) as client:
            await client.write_event(SynthesizeStart(SynthesizeVoice(name="af_heart")).event())
            for word in TEXT.split(" "):
                await client.write_event(SynthesizeChunk(f"{word} ").event())
            await client.write_event(Synthesize(TEXT).event())
            await client.write_event(SynthesizeStop().event())
            return await read_until(client, SynthesizeStopped.is_type)

    events = asyncio.run(stream())
    assert [event.type for event in events if event.type != "audio-chunk"] == [
        "audio-start",
        "audio-stop",
        "synthesize-stopped",
    ]
    whole = join(asyncio.run(speak(port, TEXT)))
    assert len(join(events)) == pytest.approx(len(whole), rel=0.1)


def test_several_texts_and_connections(port: int) -> None:
    async def several() -> None:
        async with connect(port) as client:
            for _ in range(2):
                await client.write_event(Synthesize("Hello.").event())
                assert len(join(await read_until(client, AudioStop.is_type))) > 1000
            await client.write_event(Synthesize(" ").event())  # nothing to say is no error
            assert [event.type for event in await read_until(client, AudioStop.is_type)] == [
                "audio-start",
                "audio-stop",
            ]
        spoken = await asyncio.gather(*(speak(port, TEXT) for _ in range(5)))
        assert len({len(join(events)) for events in spoken}) == 1

    asyncio.run(several())


@pytest.mark.parametrize(
    ("text", "voice", "code"),
    [
        ("Hello.", SynthesizeVoice(name="nobody"), "voice_not_found"),
        ("a" * 201, None, "max_character_limit_exceeded"),
    ],
)
def test_an_error_is_told_and_ends_the_connection(
    port: int, text: str, voice: SynthesizeVoice | None, code: str
) -> None:
    *_, last = asyncio.run(speak(port, text, voice))
    assert Error.is_type(last.type)
    assert Error.from_event(last).code == code


HOSTILE = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\xff\xfe\x00\n",
    b"[]\n",
    b"3\n",
    b"[" * 5000 + b"\n",
    b'{"data": {}}\n',
    b'{"type": "synthesize"}\n',
    b'{"type": "synthesize", "data": {"text": 3}}\n',
    b'{"type": "synthesize", "data": "text"}\n',
    b'{"type": "describe", "data_length": 99999999999}\n',
    b'{"type": "describe", "payload_length": 99999999999}\n',
    b'{"type": "describe", "data_length": -1}\n',
    b'{"type": "describe", "data_length": "1"}\n',
    b'{"type": "describe", "data_length": 2}\n[]',
    b'{"type": "' + b"x" * 600_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_nonsense_is_answered_with_an_error_and_the_end(port: int, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(content)
        answer = b""
        try:
            while more := connection.recv(65_536):
                answer += more
        except ConnectionResetError:  # it was closed while there was more to read
            pass
    # Where the server leaves something unread, the system may take the answer back with the connection.
    if answer or (content.endswith(b"\n") and content.count(b"\n") == 1):
        assert json.loads(answer.split(b"\n")[0])["type"] == "error"


def test_unknown_and_useless_events_are_ignored(port: int) -> None:
    async def send() -> Any:
        async with connect(port) as client:
            for event in (Event("transcribe"), SynthesizeStop().event(), SynthesizeChunk("Hello.").event()):
                await client.write_event(event)
            await client.write_event(Event("audio-chunk", {"rate": 1, "width": 2, "channels": 1}, b"1234"))
            await client.write_event(Ping().event())
            return await client.read_event()

    assert Pong.is_type(asyncio.run(send()).type)


class SlowEngine(FakeEngine):
    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_speak = threading.Event(), threading.Event()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        self.asked.set()
        self.may_speak.wait(PATIENCE)
        yield from super().synthesize(utterance)


def test_a_server_that_shuts_down_finishes_what_it_speaks(phonemizer: Phonemizer, tmp_path: Path) -> None:
    engine = SlowEngine()
    engine.may_speak.set()
    heard: list[Event] = []
    with serving_wyoming(Settings(data_dir=tmp_path), Pipeline(engine, phonemizer)) as port:
        engine.asked.clear()
        engine.may_speak.clear()
        speaking = threading.Thread(target=lambda: heard.extend(asyncio.run(speak(port, TEXT))))
        speaking.start()
        assert engine.asked.wait(PATIENCE)
        threading.Timer(1.0, engine.may_speak.set).start()  # while the server waits for it
    speaking.join()
    assert AudioStop.is_type(heard[-1].type)
    assert len(join(heard)) > 24_000
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset
        socket.create_connection(("127.0.0.1", port), timeout=5).recv(1)


def test_a_client_that_hangs_up_ends_the_work(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, max_streams=1, max_waiting=0)
    engine = SlowEngine()
    engine.may_speak.set()
    with serving_wyoming(settings, Pipeline(engine, phonemizer)) as port:
        engine.asked.clear()
        engine.may_speak.clear()

        async def hang_up() -> None:
            async with connect(port) as client:
                await client.write_event(Synthesize(TEXT).event())
                await asyncio.to_thread(engine.asked.wait, PATIENCE)

        asyncio.run(hang_up())
        engine.may_speak.set()
        while not AudioStop.is_type(asyncio.run(speak(port, "Hello."))[-1].type):
            pass  # the only place is free again in a moment


def test_it_is_off_by_default_and_refused_where_keys_are_required() -> None:
    assert Settings().wyoming_port is None
    with pytest.raises(ValidationError, match="SVC_WYOMING_OPEN"):
        Settings(api_key=KEY, wyoming_port=10_200)
    assert Settings(api_key=KEY, wyoming_port=10_200, wyoming_open=True).wyoming_port == 10_200


def test_what_is_spoken_is_heard_whole_and_in_pieces(
    pipeline: Pipeline, transcribe: Callable[..., str], tmp_path: Path
) -> None:
    async def stream(port: int) -> list[Event]:
        async with connect(port) as client:
            await client.write_event(SynthesizeStart(SynthesizeVoice(name="af_bella(3)+bm_george")).event())
            events: list[Event] = []
            for word in TEXT.split(" "):
                await client.write_event(SynthesizeChunk(f"{word} ").event())
                if word == "It":  # the first sentence is spoken as soon as another one begins
                    events += await read_until(client, AudioChunk.is_type)
            await client.write_event(SynthesizeStop().event())
            return events + await read_until(client, SynthesizeStopped.is_type)

    with serving_wyoming(Settings(data_dir=tmp_path), pipeline) as port:
        whole = asyncio.run(speak(port, TEXT, SynthesizeVoice(name="bm_george")))
        pieces = asyncio.run(stream(port))
    assert transcribe(join(whole)) == HEARD
    assert transcribe(join(pieces)) == HEARD
