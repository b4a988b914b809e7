"""Drives `generate` of PyPI's elevenlabs 0.2.x with a text that is still being written.

It opens its socket to a host that is written into it. Here that name leads to the service, as it could in a hosts file.
"""

import os
import socket
import sys
from urllib.parse import urlsplit

ADDRESS, KEY, VOICE, TEXT = sys.argv[1:]
os.environ["ELEVEN_API_KEY"] = KEY

from elevenlabs import generate  # type: ignore[import-not-found]  # noqa: E402

from tests.clients.drivers.report import report  # noqa: E402

look_up = socket.getaddrinfo
service = urlsplit(ADDRESS)
socket.getaddrinfo = lambda host, port, *rest, **named: look_up(service.hostname, service.port, *rest, **named)


def spoken(key: str = KEY, output_format: str = "pcm_24000") -> bytes:
    written = (TEXT[start : start + 4] for start in range(0, len(TEXT), 4))
    return b"".join(generate(written, api_key=key, voice=VOICE, stream=True, output_format=output_format))


report(
    {
        "spoken": spoken,
        "default_format": lambda: spoken(output_format="mp3_44100_128"),
        "wrong_key": lambda: spoken("wrong"),
    }
)
