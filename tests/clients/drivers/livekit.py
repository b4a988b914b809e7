"""Drives livekit's plug-in: a whole text over HTTP, and words as they are written over its socket."""

import asyncio
import sys
from typing import Any

import aiohttp  # type: ignore[import-not-found]
from livekit.agents import APIConnectOptions  # type: ignore[import-not-found]
from livekit.plugins import elevenlabs  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, KEY, VOICE, TEXT, STORY = sys.argv[1:]

# Slow machines: the plug-in gives up after this many seconds without audio.
PATIENCE = APIConnectOptions(max_retry=0, timeout=120)


def plugin(session: aiohttp.ClientSession, model: str, key: str = KEY) -> elevenlabs.TTS:
    return elevenlabs.TTS(
        api_key=key,
        base_url=f"{ADDRESS}/v1",
        model=model,
        voice_id=VOICE,
        encoding="pcm_24000",
        http_session=session,
    )


async def _gather(stream: Any) -> dict[str, Any]:
    """The audio, and the words with the seconds at which they begin."""
    audio, words = b"", []
    async for event in stream:
        audio += bytes(event.frame.data)
        words += [(str(word), word.start_time) for word in event.frame.userdata.get("lk.timed_transcripts", ())]
    return {"audio": audio, "words": words}


async def whole(model: str, key: str = KEY) -> object:
    async with aiohttp.ClientSession() as session:
        tts = plugin(session, model, key)
        async with tts.synthesize(TEXT, conn_options=PATIENCE) as stream:
            spoken = await _gather(stream)
        await tts.aclose()
        return spoken


async def streamed(model: str, key: str = KEY) -> object:
    async with aiohttp.ClientSession() as session:
        tts = plugin(session, model, key)
        replies = []
        for _ in range(2):  # on one socket
            async with tts.stream(conn_options=PATIENCE) as stream:
                for word in TEXT.split():
                    stream.push_text(f"{word} ")
                stream.end_input()
                replies.append(await _gather(stream))
        await tts.aclose()
        return replies


async def interrupted(model: str) -> object:
    async with aiohttp.ClientSession() as session:
        tts = plugin(session, model)
        async with tts.stream(conn_options=PATIENCE) as stream:
            stream.push_text(STORY)
            stream.end_input()
            async for _ in stream:
                break
        async with tts.stream(conn_options=PATIENCE) as stream:
            stream.push_text(TEXT)
            stream.end_input()
            spoken = await _gather(stream)
        await tts.aclose()
        return spoken


report(
    {
        "whole": lambda: asyncio.run(whole("eleven_v4_turbo")),
        "streamed": lambda: asyncio.run(streamed("eleven_v4_turbo")),
        "interrupted": lambda: asyncio.run(interrupted("eleven_v4_turbo")),
        "wrong_key": lambda: asyncio.run(streamed("eleven_v4_turbo", "wrong")),
        "one_voice": lambda: asyncio.run(streamed("eleven_turbo_v2_5")),
    }
)
