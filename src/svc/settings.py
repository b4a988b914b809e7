"""Every setting, from an environment variable of the same name with the prefix SVC_."""

import os
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from svc.auth.database import normalise_url
from svc.voices.catalogue import FALLBACK_VOICE


def _cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svc"


def _data_dir() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "svc"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="SVC_",
        use_attribute_docstrings=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,  # some of it is secret
    )

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = Field(8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""

    trusted_proxies: str = "127.0.0.1"
    """Addresses of proxies, separated by commas, whose X-Forwarded-* headers are believed; `*` is every one."""

    engine: Literal["turbo", "kokoro", "fake"] = "turbo"
    """What speaks: `turbo` (svc-turbo), `kokoro` (the model that it comes from, many times slower), or `fake` (tones,
    for tests and load tests)."""

    model_dir: Path | None = None
    """A folder with Kokoro's ONNX file, used instead of the installed weights."""

    model_hub: str = "https://huggingface.co"
    """Where the weights are fetched from when they are neither installed nor in SVC_MODEL_DIR."""

    cache_dir: Path = Field(default_factory=_cache_dir)
    """Where fetched weights are kept."""

    data_dir: Path = Field(default_factory=_data_dir)
    """Where what people made is kept: custom voices, and the settings of voices."""

    threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """How many threads the engine computes with; by default one for each core."""

    device: Literal["cpu", "cuda"] = "cpu"
    """Where the engine computes: `cpu`, or `cuda` (an NVIDIA GPU, with `onnxruntime-gpu` in the place of
    `onnxruntime`)."""

    default_voice: str = FALLBACK_VOICE
    """The voice that speaks for unknown voice ids: an id, or a name such as `af_heart`."""

    strict_voices: bool = False
    """Answer 404 `voice_not_found` for an unknown voice id instead of using the default voice."""

    max_characters: int = Field(40_000, ge=1)
    """The longest text that one request may bring."""

    max_body_bytes: int = Field(2_000_000, ge=1000)
    """The largest request body, in bytes; a larger one is answered 413."""

    max_body_seconds: float = Field(30, gt=0)
    """How long a request body may take to arrive; a slower one is answered 408."""

    max_clip_bytes: int = Field(25_000_000, ge=1000)
    """The largest request body that brings recordings of a voice, in bytes; a larger one is answered 413."""

    max_custom_voices: int = Field(1_000, ge=0)
    """How many custom voices are kept; a further one is answered 400 `voice_limit_reached`. 0 turns cloning off."""

    keep_references: bool = True
    """Keep the speech that a custom voice was made from, at most 20 seconds, so that it can be improved later."""

    require_consent: bool = False
    """Clone a voice only when the request says `consent=true`; without it, the answer is 403 `consent_required`."""

    refine_voices: bool = False
    """Make new custom voices a better likeness in the background, unless a request says `refine=false`; without this,
    only those whose request says `refine=true`. Needs the references to be kept."""

    watermark: bool = False
    """Put a watermark that one does not hear into what custom voices say; `svc watermark check` finds it."""

    voice_mirror: str | None = None
    """Object storage that custom voices are mirrored to and shared through: `s3://bucket/prefix`, `gs://…`, `az://…` or
    `file:///folder`. Credentials come the usual way of each cloud, such as AWS_ACCESS_KEY_ID."""

    voice_mirror_seconds: float = Field(15, gt=0)
    """How often the mirror is asked for voices that were added or removed elsewhere."""

    model_aliases: str = ""
    """Further model ids to list, separated by commas, for clients that look for the one they know."""

    cors_origins: str = ""
    """Origins whose pages may call the service, separated by commas; `*` is every one. By default every one when
    keys are required, and only pages on this machine when the service is open."""

    max_streams: int = Field(32, ge=1)
    """How many texts are spoken at once, taking turns; more are answered 429 `system_busy`."""

    max_sockets: int = Field(256, ge=1)
    """How many realtime sockets may be open at once; more are answered 429 `system_busy`."""

    shutdown_seconds: float = Field(20, ge=0)
    """How long a server that shuts down goes on with what sockets have flushed."""

    api_key: SecretStr | None = None
    """A key that callers must send. With no key and no keys table the service is open to everyone who reaches it."""

    api_keys: SecretStr | None = None
    """Further keys, separated by commas."""

    api_keys_table: SecretStr | None = None
    """The database with the keys of `svc keys`: `sqlite:///keys.db` or `postgresql://user:password@host/name`."""

    keys_cache_seconds: float = Field(5, ge=0, le=60)
    """How long a key that was read from the table counts: within that time a revoked key stops on every replica."""

    keys_grace_seconds: float = Field(0, ge=0)
    """How long keys that were used lately keep working while the table's database does not answer; 0 is not at all."""

    @field_validator("api_key", "api_keys")
    @classmethod
    def _holds_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        """A slip in the configuration must not open the door."""
        if value is not None and not _split(value):
            raise ValueError("holds no key; leave it unset to ask for none")
        return value

    @field_validator("voice_mirror")
    @classmethod
    def _is_a_mirror(cls, value: str | None) -> str | None:
        if value is not None:
            _check_object_store_url(value)
        return value

    @field_validator("refine_voices")
    @classmethod
    def _has_references(cls, value: bool, others: ValidationInfo) -> bool:
        if value and not others.data.get("keep_references", True):
            raise ValueError("a voice is refined with its reference, which SVC_KEEP_REFERENCES=0 drops")
        return value

    @field_validator("api_keys_table")
    @classmethod
    def _is_a_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            normalise_url(value.get_secret_value())
        return value

    def static_keys(self) -> list[str]:
        """The keys of SVC_API_KEY and SVC_API_KEYS."""
        one = [self.api_key.get_secret_value().strip()] if self.api_key else []
        return one + (_split(self.api_keys) if self.api_keys else [])


def _split(keys: SecretStr) -> list[str]:
    return [key for part in keys.get_secret_value().split(",") if (key := part.strip())]


def _check_object_store_url(url: str) -> None:
    """Raises `ValueError` unless `svc.voices.sync` can open it."""
    schemes = ("s3", "gs", "az", "file")
    parts = urlsplit(url)
    if parts.scheme not in schemes:
        raise ValueError(f"must begin with {', '.join(f'{scheme}://' for scheme in schemes)}")
    if parts.scheme == "file" and not parts.path.startswith("/"):
        raise ValueError("must name a folder by its whole path: file:///folder")
    if parts.scheme != "file" and not parts.netloc:
        raise ValueError(f"must name a bucket: {parts.scheme}://bucket/prefix")
