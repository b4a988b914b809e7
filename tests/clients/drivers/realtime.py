"""The calls that 1.x and 2.x of PyPI's elevenlabs have in common."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from elevenlabs import VoiceSettings  # type: ignore[import-not-found]

ADDRESS, KEY, VOICE, TEXT = sys.argv[1:]
PCM = "pcm_24000"


def calls(client: Callable[[str], Any]) -> Mapping[str, Callable[[], bytes]]:
    """What to do with a client that has a given key."""

    def spoken(key: str = KEY, voice_settings: VoiceSettings | None = None, **options: Any) -> bytes:
        # In bits as small as a language model writes them, which break words apart.
        written = (TEXT[start : start + 4] for start in range(0, len(TEXT), 4))
        tts = client(key).text_to_speech
        # 1.x stumbles over its own default for the settings, so that they are always given.
        return b"".join(tts.convert_realtime(VOICE, text=written, voice_settings=voice_settings, **options))

    return {
        "spoken": lambda: spoken(output_format=PCM),
        "with_everything": lambda: spoken(
            output_format=PCM,
            model_id="eleven_multilingual_v2",
            voice_settings=VoiceSettings(stability=0.5, similarity_boost=0.75, style=0.0, use_speaker_boost=True),
        ),
        "fast": lambda: spoken(output_format=PCM, voice_settings=VoiceSettings(speed=1.2)),
        "default_format": spoken,
        "wrong_key": lambda: spoken("wrong", output_format=PCM),
        "unknown_format": lambda: spoken(output_format="mp3_1_1"),
    }
