"""Drives PyPI's elevenlabs 2.x."""

import asyncio
import sys

from elevenlabs import VoiceSettings  # type: ignore[import-not-found]
from elevenlabs.client import AsyncElevenLabs, ElevenLabs  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, STRICT, LOADING, KEY, TEXT, VOICE = sys.argv[1:]
PCM = "pcm_24000"


def client(address: str = ADDRESS, key: str | None = KEY) -> ElevenLabs:
    return ElevenLabs(base_url=address, api_key=key)


def spoken(**settings: float | bool) -> int:
    audio = tts.convert(VOICE, text=TEXT, output_format=PCM, voice_settings=VoiceSettings(**settings))
    return sum(map(len, audio))


def headers() -> dict[str, str]:
    with tts.with_raw_response.convert(VOICE, text=TEXT, model_id="eleven_v3") as response:
        list(response.data)
        return dict(response.headers)


async def asynchronous() -> bytes:
    tts = AsyncElevenLabs(base_url=ADDRESS, api_key=KEY).text_to_speech
    return b"".join([chunk async for chunk in tts.convert(VOICE, text=TEXT, output_format=PCM)])


eleven = client()
tts = eleven.text_to_speech
report(
    {
        "voices": lambda: eleven.voices.get_all().voices,
        "voice": lambda: eleven.voices.get(VOICE),
        "search": lambda: eleven.voices.search(
            search="british",
            page_size=3,
            sort="name",
            sort_direction="asc",
            voice_type="default",
            include_total_count=True,
        ),
        "next_page": lambda: eleven.voices.search(
            search="british",
            page_size=3,
            sort="name",
            next_page_token=eleven.voices.search(search="british", page_size=3).next_page_token,
        ),
        "filtered": lambda: eleven.voices.search(language=["fr", "it"], gender="female", page_size=100),
        "named": lambda: eleven.voices.search(language="en-GB", gender="Female", category="Premade", page_size=100),
        "unnamed": lambda: [
            eleven.voices.search(collection_id="x").total_count,
            eleven.voices.search(fine_tuning_state="fine_tuned").total_count,
        ],
        "by_ids": lambda: eleven.voices.search(voice_ids=[VOICE]),
        "default_settings": eleven.voices.settings.get_default,
        "models": eleven.models.list,
        "user": eleven.user.get,
        "subscription": eleven.user.subscription.get,
        "history": lambda: eleven.history.list(page_size=10, voice_id=VOICE),
        "clip": lambda: b"".join(tts.convert(VOICE, text=TEXT)),
        "headers": headers,
        "stream": lambda: b"".join(tts.stream(VOICE, text=TEXT, output_format=PCM, enable_logging=False)),
        "asynchronous": lambda: asyncio.run(asynchronous()),
        "timestamps": lambda: tts.convert_with_timestamps(VOICE, text=TEXT, output_format=PCM),
        "stream_timestamps": lambda: list(tts.stream_with_timestamps(VOICE, text=TEXT, output_format=PCM)),
        "lengths": lambda: {
            "empty": spoken(),
            "partial": spoken(stability=0.3),
            "full": spoken(stability=0.71, similarity_boost=0.5, style=0.0, use_speaker_boost=True, speed=1.0),
            "whole numbers": spoken(stability=1, similarity_boost=0),
            "unknown slider": spoken(clone_strength=0.5),
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
        "edited": lambda: eleven.voices.settings.update(
            VOICE,
            request=VoiceSettings(stability=0.25, similarity_boost=0.5, style=0.125, use_speaker_boost=False),
        ),
        "settings": lambda: eleven.voices.settings.get(VOICE),
        "single_use_token": lambda: eleven.tokens.single_use.create("tts_websocket"),
        "retried": lambda: client(LOADING).text_to_speech.convert_with_timestamps(VOICE, text=TEXT, output_format=PCM),
        "wrong_key": client(key="wrong").user.get,
        "no_key": client(key=None).voices.get_all,
        "unknown_format": lambda: list(tts.convert(VOICE, text=TEXT, output_format="mp3_1_1")),
        "blank_text": lambda: list(tts.convert(VOICE, text=" ")),
        "unknown_voice": lambda: list(client(STRICT).text_to_speech.convert("nobody", text=TEXT)),
    }
)
