"""Clones with PyPI's elevenlabs 2.x."""

import sys
from pathlib import Path

from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, _STRICT, _LOADING, KEY, TEXT, CLIP = sys.argv[1:]
eleven = ElevenLabs(base_url=ADDRESS, api_key=KEY)
with Path(CLIP).open("rb") as clip:
    added = eleven.voices.ivc.create(name="Anna", files=[clip], description="Warm.", labels={"accent": "irish"})
voice = eleven.voices.get(added.voice_id)


def edited() -> object:
    eleven.voices.update(voice.voice_id, name="Berta", labels={"accent": "welsh"})
    return eleven.voices.get(voice.voice_id)


report(
    {
        "added": lambda: eleven.voices.ivc.create(
            name="Second", files=[Path(CLIP).read_bytes()], remove_background_noise=True
        ),
        "voice": lambda: voice,
        "edited": edited,
        "unlabelled": lambda: eleven.voices.update(voice.voice_id, name="Berta"),
        "spoken": lambda: b"".join(eleven.text_to_speech.convert(voice.voice_id, text=TEXT, output_format="pcm_24000")),
        "listed": lambda: [each.name for each in eleven.voices.search(category="cloned").voices],
        "removed": lambda: eleven.voices.delete(voice.voice_id),
        "listed_after": lambda: [each.name for each in eleven.voices.get_all().voices],
        "removed_again": lambda: eleven.voices.delete(voice.voice_id),
        "built_in": lambda: eleven.voices.delete("svcAfHeart0000000000"),
        "not_audio": lambda: eleven.voices.ivc.create(name="X", files=[b"nonsense"]),
    }
)
