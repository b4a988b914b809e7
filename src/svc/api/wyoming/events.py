"""The events of a connection: lines of JSON, each with the data and the payload that it announces."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Attribution, Info, TtsProgram, TtsVoice
from wyoming.tts import SynthesizeStopped

from svc import __version__
from svc.api.input_budget import InputBudget
from svc.api.json_objects import InvalidJson, parse_object
from svc.api.realtime.server_messages import ServerMessages
from svc.audio import formats
from svc.errors import InvalidMessage, MessageTooLarge, SvcError
from svc.synthesis.request import AudioPart
from svc.text.language.grades import list_offered_languages
from svc.voices.catalogue import Voice

MAX_LINE_BYTES = 64 * 1024
_MAX_PART_BYTES = 256 * 1024
FORMAT = formats.find("pcm_24000")

_SAMPLE_BYTES = 2
_CHUNK_BYTES = FORMAT.sample_rate  # half a second


async def read_event(reader: asyncio.StreamReader, budget: InputBudget) -> Event | None:
    """The next event, without its payload, which no event for speech has; None at the end.

    The package's own function would read as much as a client announces.
    """
    try:
        line = await reader.readline()
    except ValueError:  # longer than the reader's limit
        raise MessageTooLarge(MAX_LINE_BYTES) from None
    if not line:
        return None
    header = _parse(line)
    kind, data = header.get("type"), header.get("data") or {}
    if not isinstance(kind, str) or not isinstance(data, dict):
        raise InvalidMessage("an event needs a type, and data that is an object")
    data_length, payload_length = (_read_length(header, f"{part}_length") for part in ("data", "payload"))
    with budget.open() as reservation:
        reservation.resize(data_length + payload_length)
        if data_length:
            data = {**data, **_parse(await reader.readexactly(data_length))}
        await reader.readexactly(payload_length)
    return Event(kind, data)


def _parse(content: bytes) -> dict[str, Any]:
    try:
        parsed = parse_object(content)
    except InvalidJson:
        raise InvalidMessage("not JSON") from None
    if not isinstance(parsed, dict):
        raise InvalidMessage("not a JSON object")
    return parsed


def _read_length(header: dict[str, Any], name: str) -> int:
    length = header.get(name) or 0
    if not isinstance(length, int) or length < 0:
        raise InvalidMessage(f"{name} is not a length")
    if length > _MAX_PART_BYTES:
        raise MessageTooLarge(_MAX_PART_BYTES)
    return length


def describe_voices(voices: Iterable[Voice]) -> Event:
    """The answer to `describe`: one program with all voices."""
    svc = Attribution("svc", "")
    listed = [
        TtsVoice(
            name=voice.key,
            attribution=svc,
            installed=True,
            description=_describe(voice),
            version=None,
            languages=_list_languages(voice),
        )
        for voice in voices
    ]
    program = TtsProgram(
        name="svc",
        attribution=svc,
        installed=True,
        description="Natural speech, on your own machine",
        version=__version__,
        voices=listed,
        supports_synthesize_streaming=True,
    )
    return Info(tts=[program]).event()


def _describe(voice: Voice) -> str:
    details = ", ".join(each for each in (voice.accent, voice.gender) if each)
    return f"{voice.name} ({details})" if details else voice.name


def _list_languages(voice: Voice) -> list[str]:
    """Its own language, and those that all voices speak alike. A custom voice was made to speak the others, too."""
    own = voice.language.locale
    return [
        own,
        *(each.locale for each in list_offered_languages() if each.locale != own and (voice.custom or each.row)),
    ]


class SpeechWriter(ServerMessages[list[Event]]):
    """The events of one text."""

    def __init__(self, *, streaming: bool) -> None:
        """`streaming` if the text comes in chunks, whose end is announced in addition."""
        self._streaming = streaming
        self._samples = 0
        self._started = False

    def audio(self, part: AudioPart) -> Iterator[list[Event]]:
        for start in range(0, len(part.audio), _CHUNK_BYTES):
            audio = part.audio[start : start + _CHUNK_BYTES]
            timestamp = 1000 * self._samples // FORMAT.sample_rate
            self._samples += len(audio) // _SAMPLE_BYTES
            chunk = AudioChunk(FORMAT.sample_rate, _SAMPLE_BYTES, 1, audio, timestamp=timestamp)
            yield [*self._start(), chunk.event()]

    def final(self) -> list[Event]:
        stopped = [SynthesizeStopped().event()] if self._streaming else []
        return [*self._start(), AudioStop(1000 * self._samples // FORMAT.sample_rate).event(), *stopped]

    def _start(self) -> list[Event]:
        if self._started:
            return []
        self._started = True
        return [AudioStart(FORMAT.sample_rate, _SAMPLE_BYTES, 1, timestamp=0).event()]


def describe_error(error: SvcError) -> Event:
    return Error(error.message, error.status).event()
