"""Drives `convert_realtime` of PyPI's elevenlabs 1.x. Its `base_url` keeps nothing but the host."""

from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]
from elevenlabs.environment import ElevenLabsEnvironment  # type: ignore[import-not-found]

from tests.clients.drivers.realtime import ADDRESS, calls
from tests.clients.drivers.report import report

environment = ElevenLabsEnvironment(base=ADDRESS, wss=ADDRESS.replace("http", "ws"))
report(calls(lambda key: ElevenLabs(environment=environment, api_key=key)))
