"""Clones with PyPI's elevenlabs 0.2.x."""

import os
import sys

ADDRESS, _STRICT, _LOADING, KEY, TEXT, CLIP = sys.argv[1:]
os.environ |= {"ELEVEN_BASE_URL": f"{ADDRESS}/v1", "ELEVEN_API_KEY": KEY}

from elevenlabs import api, clone, generate, voices  # type: ignore[import-not-found]  # noqa: E402

from tests.clients.drivers.report import report  # noqa: E402

voice = clone(name="Anna", description="Warm.", files=[CLIP], labels={"accent": "irish"})


report(
    {
        "added": lambda: {"voice_id": voice.voice_id},
        "voice": lambda: voice,
        "edited": lambda: api.Voice.edit_by_id(voice.voice_id, name="Berta", labels={"accent": "welsh"}),
        "spoken": lambda: generate(TEXT, voice=voice, output_format="pcm_24000"),
        "by_name": lambda: generate(TEXT, voice="Berta", output_format="pcm_24000"),
        "listed": lambda: [each.name for each in voices()],
        "removed": lambda: voice.delete(),
        "listed_after": lambda: [each.name for each in voices()],
        "removed_again": lambda: voice.delete(),
        "built_in": lambda: api.Voice(voice_id="svcAfHeart0000000000").delete(),
        "not_audio": lambda: clone(name="X", description="", files=[__file__]),
    }
)
