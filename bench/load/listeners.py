"""Clients that listen: each asks for a text, plays the audio from its first byte on, and notes what went wrong."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from bench import sentences
from bench.load.client import VOICE, Incomplete, open_response

# Of constant rate, so that the seconds of audio follow from the bytes.
BYTES_A_SECOND = {"pcm_24000": 48_000, "mp3_44100_128": 16_000, "ulaw_8000": 8_000}
KINDS = ("stream", "clip", "with-timestamps", "socket")
PATHS = {"stream": "/stream", "clip": "", "with-timestamps": "/with-timestamps"}
STUCK_AFTER = 90.0  # seconds
STARVED_OVER = 0.05  # seconds


@dataclass(slots=True)
class Heard:
    """What became of one request."""

    kind: str
    text: str
    status: int = 0
    """200 if it was accepted, otherwise the HTTP status of the refusal; 0 for neither."""
    reason: str = ""
    retry_after: bool = False
    first_byte: float = 0.0
    seconds: float = 0.0
    starved: float = 0.0
    """Seconds that the player had nothing to play after the first byte."""
    whole: bool = False
    """Whether the end of the response came."""
    stuck: bool = False
    played_until: float = 0.0

    def add_audio(self, seconds: float, began: float) -> None:
        now = time.monotonic()
        if not self.first_byte:
            self.first_byte, self.played_until = now - began, now
        self.starved += max(0.0, now - self.played_until)
        self.played_until = max(self.played_until, now) + seconds
        self.seconds += seconds

    @property
    def accepted(self) -> bool:
        return self.status == 200

    @property
    def plays(self) -> bool:
        """Whether it is played while it comes; a whole clip is played when it is complete."""
        return self.kind in ("stream", "socket")


async def listen(address: str, kind: str, text: str, output_format: str = "pcm_24000", key: str | None = None) -> Heard:
    """Never raises: what went wrong is in the result."""
    heard = Heard(kind, text)
    try:
        async with asyncio.timeout(STUCK_AFTER):
            await (_listen_socket if kind == "socket" else _listen_http)(address, heard, output_format, key)
    except TimeoutError:
        heard.stuck = True
    except (Incomplete, OSError, ConnectionClosed, InvalidHandshake) as error:
        heard.reason = heard.reason or type(error).__name__
    return heard


async def _listen_http(address: str, heard: Heard, output_format: str, key: str | None) -> None:
    began = time.monotonic()
    path = f"/v1/text-to-speech/{VOICE}{PATHS[heard.kind]}?output_format={output_format}"
    async with open_response(address, path, {"text": heard.text}, key=key) as response:
        heard.status = response.status
        heard.retry_after = "retry-after" in response.headers
        if response.status != 200:
            body = b"".join([chunk async for chunk in response.chunks()])
            heard.reason = _read_reason(body)
            return
        if heard.kind == "with-timestamps":
            body = b"".join([chunk async for chunk in response.chunks()])
            heard.add_audio(json.loads(body)["alignment"]["character_end_times_seconds"][-1], began)
        else:
            rate = BYTES_A_SECOND[output_format]
            async for chunk in response.chunks():
                heard.add_audio(len(chunk) / rate, began)
        heard.whole = True


async def _listen_socket(address: str, heard: Heard, output_format: str, key: str | None) -> None:
    began = time.monotonic()
    url = f"{address.replace('http', 'ws', 1)}/v1/text-to-speech/{VOICE}/stream-input?output_format={output_format}"
    headers = {"xi-api-key": key} if key else {}
    rate = BYTES_A_SECOND[output_format]
    try:
        async with connect(
            url, additional_headers=headers, compression=None, max_size=None, open_timeout=None
        ) as socket:
            for text in (" ", heard.text + " ", ""):
                await socket.send(json.dumps({"text": text}))
            async for frame in socket:
                message = json.loads(frame)
                if reason := message.get("error"):
                    heard.reason = reason
                    # A refusal after the handshake has a close code instead of a status.
                    heard.status = 429 if message.get("code") == 1013 else 500 if message.get("code") == 1011 else 400
                    heard.retry_after = True  # the close code says the same
                    return
                if audio := message.get("audio"):
                    heard.status = 200
                    heard.add_audio(len(audio) * 3 // 4 / rate, began)
                if message.get("isFinal"):
                    heard.whole = True
    except InvalidStatus as refusal:
        heard.status = refusal.response.status_code
        heard.retry_after = "retry-after" in refusal.response.headers
        heard.reason = _read_reason(bytes(refusal.response.body or b""))


def _read_reason(body: bytes) -> str:
    try:
        detail = json.loads(body)["detail"]
        return str(detail["status"]) if isinstance(detail, dict) else "validation"
    except (ValueError, KeyError, TypeError):
        return "?"


def make_texts(rng: Random, count: int) -> list[str]:
    """Texts of one to three sentences."""
    lines = [sentence.text for sentence in sentences.read("en") if sentence.text.isascii()]
    return [" ".join(rng.sample(lines, 1 + number % 3)) for number in range(count)]


def make_long_text(characters: int) -> str:
    lines = [sentence.text for sentence in sentences.read("en")]
    text = ""
    while len(text) < characters:
        text += lines[len(text) % len(lines)] + " "
    return text[:characters]


def quantile(values: Sequence[float], share: float) -> float:
    """NaN if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class OwnStall:
    """How long this process's own event loop stalls: what it measures is no finer than that."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            self.longest = max(self.longest, time.monotonic() - began - 0.01)

    def stop(self) -> float:
        self._task.cancel()
        return self.longest
