"""Every setting, from an environment variable of the same name with the prefix SVC_."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from svc.voices import FALLBACK_VOICE


def _cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svc"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="SVC_", use_attribute_docstrings=True, env_ignore_empty=True)

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = Field(8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""

    engine: Literal["kokoro", "fake"] = "kokoro"
    """What speaks: `kokoro`, or `fake` (tones, for tests and load tests)."""

    model_dir: Path | None = None
    """A folder with Kokoro's ONNX file, used instead of the installed weights."""

    model_hub: str = "https://huggingface.co"
    """Where the weights are fetched from when they are neither installed nor in SVC_MODEL_DIR."""

    cache_dir: Path = Field(default_factory=_cache_dir)
    """Where fetched weights are kept."""

    threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """How many threads the engine computes with; by default one for each core."""

    default_voice: str = FALLBACK_VOICE
    """The voice that speaks for unknown voice ids: an id, or a name such as `af_heart`."""

    strict_voices: bool = False
    """Answer 404 `voice_not_found` for an unknown voice id instead of using the default voice."""

    max_characters: int = Field(40_000, ge=1)
    """The longest text that one request may bring."""

    max_streams: int = Field(32, ge=1)
    """How many texts are spoken at once, taking turns; more are answered 429 `system_busy`."""
