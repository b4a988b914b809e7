"""Drives PyPI's elevenlabs 0.2.x, whose functions read the address and the key from the environment."""

import os
import sys

ADDRESS, STRICT, _LOADING, KEY, TEXT, VOICE = sys.argv[1:]
os.environ |= {"ELEVEN_BASE_URL": f"{ADDRESS}/v1", "ELEVEN_API_KEY": KEY}

from elevenlabs import api, generate, voices  # type: ignore[import-not-found]  # noqa: E402

from tests.clients.drivers.report import report  # noqa: E402


def spoken(settings: api.VoiceSettings | None) -> int:
    return len(generate(TEXT, voice=api.Voice(voice_id=VOICE, settings=settings), output_format="pcm_24000"))


def without_key() -> object:
    del os.environ["ELEVEN_API_KEY"]
    try:
        return api.User.from_api()
    finally:
        os.environ["ELEVEN_API_KEY"] = KEY


def edited() -> object:
    settings = api.VoiceSettings(stability=0.25, similarity_boost=0.5, style=0.125, use_speaker_boost=False)
    return api.Voice.edit_by_id(VOICE, voice_settings=settings).settings


report(
    {
        "voices": lambda: list(voices()),
        "voice": lambda: api.Voice.from_id(VOICE),
        "default_settings": api.Voice.default_settings,
        "models": lambda: list(api.Models.from_api()),
        "user": api.User.from_api,
        "subscription": api.Subscription.from_api,
        "history": api.History.from_api,
        "clip": lambda: generate(TEXT, voice=VOICE),
        "stream": lambda: b"".join(generate(TEXT, voice=VOICE, stream=True, output_format="pcm_24000")),
        "default_voice": lambda: generate(TEXT, output_format="ulaw_8000"),
        "by_name": lambda: generate(TEXT, voice="Sarah", output_format="pcm_16000"),
        "lengths": lambda: {
            "null": spoken(None),
            "full": spoken(api.VoiceSettings(stability=0.71, similarity_boost=0.5, style=0.0, use_speaker_boost=True)),
            "whole numbers": spoken(api.VoiceSettings(stability=1, similarity_boost=0)),
        },
        "edited_settings": edited,
        "settings": lambda: api.VoiceSettings.from_voice_id(VOICE),
        "wrong_key": lambda: generate(TEXT, api_key="wrong"),
        "no_key": without_key,
        "unknown_format": lambda: generate(TEXT, output_format="mp3_1_1"),
        "blank_text": lambda: generate(" "),
        "unknown_voice": lambda: api.base.API.get(f"{STRICT}/v1/voices/nobody"),
    }
)
