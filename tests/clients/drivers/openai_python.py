"""Drives PyPI's openai."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from openai import APIStatusError, AsyncOpenAI, OpenAI  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, STRICT, KEY, TEXT = sys.argv[1:]


def client(address: str = ADDRESS, key: str = KEY) -> OpenAI:
    return OpenAI(base_url=f"{address}/openai/v1", api_key=key, max_retries=0)


def speak(**fields: Any) -> bytes:
    audio: bytes = openai.audio.speech.create(**{"model": "tts-1", "voice": "alloy", "input": TEXT, **fields}).content
    return audio


def stream() -> dict[str, Any]:
    speech = openai.audio.speech.with_streaming_response
    with speech.create(model="gpt-4o-mini-tts", voice="coral", input=TEXT, response_format="pcm") as response:
        return {"chunks": list(response.iter_bytes(4800)), "headers": dict(response.headers)}


def events() -> list[str]:
    speech = openai.audio.speech.with_streaming_response
    with speech.create(
        model="gpt-4o-mini-tts", voice="sage", input=TEXT, response_format="pcm", stream_format="sse"
    ) as response:
        return list(response.iter_lines())


async def asynchronous() -> bytes:
    speech = AsyncOpenAI(base_url=f"{ADDRESS}/v1", api_key=KEY).audio.speech
    audio: bytes = (await speech.create(model="tts-1", voice="alloy", input=TEXT, response_format="pcm")).content
    return audio


def error_of(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        call()
    except APIStatusError as error:
        fields = {name: getattr(error, name) for name in ("status_code", "code", "param", "type", "message")}
        return {"class": type(error).__name__, **fields}
    raise AssertionError("it raised nothing")


openai = client()
report(
    {
        "formats": lambda: {name: speak(response_format=name) for name in ("mp3", "opus", "aac", "flac", "wav", "pcm")},
        "speeds": lambda: {str(each): len(speak(response_format="pcm", speed=each)) for each in (0.25, 1.0, 4.0)},
        "stream": stream,
        "events": events,
        "asynchronous": lambda: asyncio.run(asynchronous()),
        "custom_voice": lambda: speak(voice={"id": "af_bella(3)+af_nicole(1)"}, instructions="Cheerful."),
        "models": lambda: [model.id for model in openai.models.list()],
        "model": lambda: openai.models.retrieve("tts-1").id,
        "errors": lambda: {
            "wrong_key": error_of(client(key="wrong").models.list),
            "bad_speed": error_of(lambda: speak(speed=9)),
            "bad_format": error_of(lambda: speak(response_format="ogg")),
            "blank": error_of(lambda: speak(input=" ")),
            "wrong_base": error_of(
                lambda: OpenAI(base_url=ADDRESS, api_key=KEY).audio.speech.with_raw_response.create(
                    model="tts-1", voice="alloy", input=TEXT
                )
            ),
            "wrong_base_of_models": error_of(OpenAI(base_url=f"{ADDRESS}/", api_key=KEY).models.list),
            "unknown_model": error_of(lambda: openai.models.retrieve("whisper-1")),
            "unknown_voice": error_of(
                lambda: client(STRICT).audio.speech.create(model="tts-1", voice="nobody", input=TEXT)
            ),
            "too_much": error_of(
                lambda: [client(STRICT).audio.speech.create(model="tts-1", voice="alloy", input=TEXT) for _ in range(9)]
            ),
        },
    }
)
