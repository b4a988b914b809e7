"""Clones with PyPI's elevenlabs 1.x."""

import sys
from pathlib import Path

from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]
from elevenlabs.environment import ElevenLabsEnvironment  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, _STRICT, _LOADING, KEY, TEXT, CLIP = sys.argv[1:]
eleven = ElevenLabs(environment=ElevenLabsEnvironment(base=ADDRESS, wss=ADDRESS.replace("http", "ws")), api_key=KEY)
voice = eleven.clone("Anna", [CLIP], "Warm.", {"accent": "irish"})


def edited() -> object:
    eleven.voices.edit(voice.voice_id, name="Berta", labels='{"accent": "welsh"}')
    return eleven.voices.get(voice.voice_id)


report(
    {
        "added": lambda: eleven.voices.add(name="Second", files=[Path(CLIP).read_bytes()]),
        "voice": lambda: voice,
        "edited": edited,
        "spoken": lambda: b"".join(eleven.text_to_speech.convert(voice.voice_id, text=TEXT, output_format="pcm_24000")),
        "by_name": lambda: b"".join(eleven.generate(text=TEXT, voice="Berta", output_format="pcm_24000")),
        "listed": lambda: [each.name for each in eleven.voices.get_all().voices],
        "removed": lambda: eleven.voices.delete(voice.voice_id),
        "listed_after": lambda: [each.name for each in eleven.voices.get_all().voices],
        "removed_again": lambda: eleven.voices.delete(voice.voice_id),
        "built_in": lambda: eleven.voices.delete("svcAfHeart0000000000"),
        "not_audio": lambda: eleven.voices.add(name="X", files=[b"nonsense"]),
    }
)
