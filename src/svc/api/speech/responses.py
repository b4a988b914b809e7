"""Responses with speech: audio, JSON with audio in Base64, and lines of JSON. None of them is made in one long step."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from svc.synthesis.alignment import Alignment
from svc.synthesis.request import AudioPart, Clip, VoiceSegment

# Some clients drop a line of 128 KiB or more; the rest is for the timestamps that go with the audio.
_MAX_LINE_AUDIO_BYTES = 60_000

_PIECE_BYTES = 60_000
_PIECE_ITEMS = 2_000


class AudioStream(StreamingResponse):
    """A stream that is made while it is sent; however it ends, the work ends with it."""

    def __init__(self, parts: AsyncGenerator[AudioPart], media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(self._write(parts), media_type=media_type, headers=headers)
        self._parts = parts

    async def _write(self, parts: AsyncGenerator[AudioPart]) -> AsyncIterator[bytes]:
        async for part in parts:
            yield part.audio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._parts.aclose()


class TimestampStream(AudioStream):
    """Lines of JSON, each with audio in Base64 and the times of its characters; of a dialogue also its turns."""

    def __init__(
        self,
        parts: AsyncGenerator[AudioPart],
        media_type: str,
        headers: Mapping[str, str],
        voice_ids: Sequence[str] | None = None,
    ) -> None:
        """`voice_ids` are those of the turns of a dialogue."""
        super().__init__(parts, media_type, headers)
        self._voice_ids = voice_ids

    async def _write(self, parts: AsyncGenerator[AudioPart]) -> AsyncIterator[bytes]:
        async for part in parts:
            for piece in part.split(_MAX_LINE_AUDIO_BYTES):
                if piece.audio or piece.alignment.characters:
                    clip = Clip([piece.audio], piece.alignment, piece.normalized, list(piece.segments))
                    yield b"".join(_write_clip(clip, self._voice_ids)) + b"\n"


class AudioClip(StreamingResponse):
    """A whole clip."""

    def __init__(self, clip: Clip, media_type: str, headers: Mapping[str, str]) -> None:
        length = {"content-length": str(clip.length)}
        super().__init__(_iterate(clip.pieces), media_type=media_type, headers={**headers, **length})


class TimestampedClip(StreamingResponse):
    """JSON with a whole clip in Base64 and the times of all characters; of a dialogue also its turns."""

    def __init__(self, clip: Clip, headers: Mapping[str, str], voice_ids: Sequence[str] | None = None) -> None:
        """`voice_ids` are those of the turns of a dialogue."""
        super().__init__(_iterate(_write_clip(clip, voice_ids)), media_type="application/json", headers=headers)


async def _iterate(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """On the event loop: each piece is short work, and a thread for each would cost more.

    Others have their turn after each piece, also where the client takes all of them without a pause.
    """
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def _write_clip(clip: Clip, voice_ids: Sequence[str] | None) -> Iterator[bytes]:
    """JSON in ASCII, because some clients split lines at further Unicode characters."""
    yield b'{"audio_base64":"'
    yield from _encode_base64(clip.pieces)
    yield b'","alignment":'
    yield from _write_alignment(clip.alignment)
    yield b',"normalized_alignment":'
    yield from _write_alignment(clip.normalized)
    if voice_ids is not None:
        yield b',"voice_segments":['
        yield from _write_items([_segment_to_json(segment, voice_ids) for segment in clip.segments])
        yield b"]"
    yield b"}"


def _segment_to_json(segment: VoiceSegment, voice_ids: Sequence[str]) -> dict[str, Any]:
    return {
        "voice_id": voice_ids[segment.turn],
        "start_time_seconds": round(segment.start_seconds, 3),
        "end_time_seconds": round(segment.end_seconds, 3),
        "character_start_index": segment.start,
        "character_end_index": segment.end,
        "dialogue_input_index": segment.turn,
    }


def _encode_base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Base64 of the pieces as if they were one: three bytes become four characters, so the rest of each is kept."""
    rest = b""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE_BYTES):
            audio = rest + piece[start : start + _PIECE_BYTES]
            whole = len(audio) - len(audio) % 3
            yield base64.b64encode(audio[:whole])
            rest = audio[whole:]
    yield base64.b64encode(rest)


def _write_alignment(alignment: Alignment) -> Iterator[bytes]:
    if not alignment.characters:
        yield b"null"
        return
    yield b'{"characters":['
    yield from _write_items(alignment.characters)
    yield b'],"character_start_times_seconds":['
    yield from _write_items([round(time, 3) for time in alignment.starts])
    yield b'],"character_end_times_seconds":['
    yield from _write_items([round(time, 3) for time in alignment.ends])
    yield b"]}"


def _write_items(items: list[Any]) -> Iterator[bytes]:
    for start in range(0, len(items), _PIECE_ITEMS):
        separator = "," if start else ""
        yield (separator + json.dumps(items[start : start + _PIECE_ITEMS])[1:-1]).encode()
