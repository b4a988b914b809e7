"""A self-hosted text-to-speech service."""

from importlib.metadata import version

__version__ = version("svc")
