"""Drives `convert_realtime` of PyPI's elevenlabs 2.x."""

from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]

from tests.clients.drivers.realtime import ADDRESS, calls
from tests.clients.drivers.report import report

report(calls(lambda key: ElevenLabs(base_url=ADDRESS, api_key=key)))
