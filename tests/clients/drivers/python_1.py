"""Drives PyPI's elevenlabs 1.x. Its `base_url` keeps nothing but the host, so the environment carries the address."""

import asyncio
import sys

from elevenlabs import VoiceSettings  # type: ignore[import-not-found]
from elevenlabs.client import AsyncElevenLabs, ElevenLabs  # type: ignore[import-not-found]
from elevenlabs.environment import ElevenLabsEnvironment  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, STRICT, _LOADING, KEY, TEXT, VOICE = sys.argv[1:]
PCM = "pcm_24000"


def environment(address: str) -> ElevenLabsEnvironment:
    return ElevenLabsEnvironment(base=address, wss=address.replace("http", "ws"))


def client(address: str = ADDRESS, key: str | None = KEY) -> ElevenLabs:
    return ElevenLabs(environment=environment(address), api_key=key)


def spoken(**settings: float | bool) -> int:
    audio = tts.convert(VOICE, text=TEXT, output_format=PCM, voice_settings=VoiceSettings(**settings))
    return sum(map(len, audio))


def edited() -> object:
    return eleven.voices.edit_settings(
        VOICE, request=VoiceSettings(stability=0.25, similarity_boost=0.5, style=0.125, use_speaker_boost=False)
    )


async def asynchronous() -> bytes:
    tts = AsyncElevenLabs(environment=environment(ADDRESS), api_key=KEY).text_to_speech
    return b"".join([chunk async for chunk in tts.convert(VOICE, text=TEXT, output_format=PCM)])


eleven = client()
tts = eleven.text_to_speech
report(
    {
        "voices": lambda: eleven.voices.get_all(show_legacy=True).voices,
        "voice": lambda: eleven.voices.get(VOICE, with_settings=True),
        "search": lambda: eleven.voices.search(
            search="british",
            page_size=3,
            sort="name",
            sort_direction="asc",
            category="premade",
            include_total_count=True,
        ),
        "next_page": lambda: eleven.voices.search(
            search="british",
            page_size=3,
            sort="name",
            next_page_token=eleven.voices.search(search="british", page_size=3).next_page_token,
        ),
        "default_settings": eleven.voices.get_default_settings,
        "models": eleven.models.get_all,
        "user": eleven.user.get,
        "subscription": eleven.user.get_subscription,
        "history": lambda: eleven.history.get_all(page_size=10),
        "clip": lambda: b"".join(tts.convert(VOICE, text=TEXT, model_id="eleven_multilingual_v2")),
        "stream": lambda: b"".join(tts.convert_as_stream(VOICE, text=TEXT, output_format=PCM, enable_logging=False)),
        "asynchronous": lambda: asyncio.run(asynchronous()),
        "default_voice": lambda: b"".join(eleven.generate(text=TEXT, output_format="ulaw_8000")),
        "by_name": lambda: b"".join(eleven.generate(text=TEXT, voice="Sarah", stream=True, output_format="pcm_16000")),
        "looked_up": lambda: b"".join(eleven.generate(text=TEXT, voice=VOICE)),
        "timestamps": lambda: tts.convert_with_timestamps(VOICE, text=TEXT, output_format=PCM),
        "stream_timestamps": lambda: list(tts.stream_with_timestamps(VOICE, text=TEXT, output_format=PCM)),
        "lengths": lambda: {
            "empty": spoken(),
            "partial": spoken(stability=0.3),
            "full": spoken(stability=0.71, similarity_boost=0.5, style=0.0, use_speaker_boost=True, speed=1.0),
            "whole numbers": spoken(stability=1, similarity_boost=0),
            "slow": spoken(speed=0.7),
            "fast": spoken(speed=1.2),
        },
        "everything": lambda: b"".join(
            tts.convert(
                VOICE,
                text=TEXT,
                output_format=PCM,
                language_code="en",
                seed=7,
                previous_text="Before.",
                next_text="After.",
                previous_request_ids=["unknown"],
                next_request_ids=["unknown"],
                use_pvc_as_ivc=True,
                apply_text_normalization="auto",
                apply_language_text_normalization=True,
                optimize_streaming_latency=0,
            )
        ),
        "edited": edited,
        "settings": lambda: eleven.voices.get_settings(VOICE),
        "wrong_key": client(key="wrong").user.get,
        "no_key": client(key=None).voices.get_all,
        "unknown_format": lambda: list(tts.convert(VOICE, text=TEXT, output_format="mp3_1_1")),
        "blank_text": lambda: list(tts.convert(VOICE, text=" ")),
        "unknown_voice": lambda: list(client(STRICT).text_to_speech.convert("nobody", text=TEXT)),
    }
)
