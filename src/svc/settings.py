"""All settings. Each is read from the environment variable of its name with the prefix SVC_."""

import ipaddress
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from svc.process.cpus import count_cpus


def _cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svc"


def _data_dir() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "svc"


_WORKERS_A_PROCESS = 4
"""Of svc-turbo: more would wait for each other, as an interpreter runs one thread at a time between their networks."""

_STREAMS_A_WORKER = 16

_GPU_WORKERS = 64
"""As many as share a batch there."""

_SQLITE = "sqlite:///"
_DATABASES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}

_KEYS = ("api_key", "api_keys", "api_keys_table")


def _count_engine_processes(others: dict[str, Any]) -> int:
    if others.get("device") == "cuda":
        return 1
    processes = int(others.get("processes", 1))
    return max(processes, count_cpus() // _WORKERS_A_PROCESS) if others.get("engine") == "turbo" else processes


def _count_workers(others: dict[str, Any]) -> int:
    if others.get("device") == "cuda":
        return _GPU_WORKERS
    return max(1, count_cpus() // int(others.get("engine_processes", 1)))


def _count_threads(others: dict[str, Any]) -> int:
    return max(1, count_cpus() // int(others.get("workers", 1) * others.get("engine_processes", 1)))


def _count_for_one_key(name: str) -> Callable[[dict[str, Any]], int]:
    """A quarter of what all keys may store."""
    return lambda others: math.ceil(int(others.get(name, 1)) / 4)


def _count_streams(others: dict[str, Any]) -> int:
    workers = int(others.get("workers", 1)) * int(others.get("engine_processes", 1))
    return max(32, _STREAMS_A_WORKER * workers)


MAX_TEXT_LENGTH = 2_000_000
"""Of any text in a request, in characters."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="SVC_",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,  # some of it is secret
    )

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = Field(8000, ge=0, le=65535)
    """The port to listen on; 0 picks a free port."""

    trusted_proxies: str = "127.0.0.1"
    """Comma-separated addresses of proxies whose X-Forwarded-* headers are trusted; `*` trusts all."""

    engine: Literal["turbo", "fake"] = "turbo"
    """The synthesis engine: `turbo` (svc-turbo), or `fake` (tones, for tests and load tests)."""

    cache_dir: Path = Field(default_factory=_cache_dir)
    """The folder for voice previews and the Japanese dictionary. It can be deleted at any time."""

    data_dir: Path = Field(default_factory=_data_dir)
    """The folder for user data: custom voices, the settings of voices, and pronunciation dictionaries."""

    device: Literal["cpu", "cuda"] = "cpu"
    """The device that the engine runs on: `cpu`, or `cuda` (an NVIDIA GPU; needs `onnxruntime-gpu` instead of
    `onnxruntime`)."""

    processes: int = Field(1, ge=1)
    """How many processes of `svc serve` take requests, read texts and encode audio, all on the same port. Limits hold
    for each, unless SVC_REDIS_URL is set."""

    engine_processes: int = Field(default_factory=_count_engine_processes, ge=1)
    """How many processes have the engine, each with its own weights; by default one for every four cores, at least as
    many as SVC_PROCESSES, and one on a GPU, which it can fill. If both are 1, one process does all. If there are more
    of these, they also find the phonemes of texts."""

    workers: int = Field(default_factory=_count_workers, ge=1)
    """How many pieces of speech the engine makes at the same time, in each of its processes; by default one for every
    core that all of them may use, as its CPU affinity and the limit of its
    container say, and 64 where a GPU computes them as one batch. They share the weights."""

    threads: int = Field(default_factory=_count_threads, ge=1)
    """The number of threads that the engine uses for one piece of speech; by default the cores are shared out between
    the workers of all processes."""

    cluster_api_replicas: int = Field(1, ge=1)
    """With `svc serve --cluster`: how many replicas of the API there are. Those on one machine share its port."""

    cluster_min_replicas: int = Field(1, ge=1)
    """With `svc serve --cluster`: the smallest number of replicas of the engine."""

    cluster_max_replicas: int = Field(1, ge=1)
    """With `svc serve --cluster`: the largest number of replicas of the engine. Between the two, it follows the number
    of utterances that are being spoken or wait, and the audio that came too late."""

    cluster_cpus: float = Field(default_factory=lambda data: data.get("workers", 1) * data.get("threads", 1), ge=0)
    """With `svc serve --cluster`: the cores that Ray reserves for each replica of the engine; by default SVC_WORKERS
    times SVC_THREADS."""

    cluster_gpus: float = Field(default_factory=lambda data: 1 if data.get("device") == "cuda" else 0, ge=0)
    """With `svc serve --cluster`: the GPUs that Ray reserves for each replica of the engine; by default one with
    SVC_DEVICE=cuda. Half a GPU puts two replicas on one."""

    default_voice: str = "af_heart"
    """The voice for unknown voice ids: an id, or a name such as `af_heart`. One that does not exist is an error at the
    start, or a warning if it is a custom voice that SVC_VOICE_MIRROR may still bring."""

    strict_voices: bool = False
    """Return 404 `voice_not_found` for an unknown voice id instead of using the default voice."""

    max_characters: int = Field(40_000, ge=1, le=MAX_TEXT_LENGTH)
    """The maximum length of the text of one request, in characters; a longer text gets 400."""

    max_audio_seconds: float = Field(3600, gt=0)
    """The maximum length of the audio of one request, in seconds; a text that would become longer gets 400."""

    max_body_bytes: int = Field(2_000_000, ge=1000)
    """The maximum size of a request body, in bytes; a larger one gets 413."""

    max_body_seconds: float = Field(30, gt=0)
    """The timeout for receiving a request body, in seconds; a slower one gets 408."""

    max_input_bytes: int = Field(128_000_000, ge=1000)
    """The maximum size of all request bodies and socket messages together that the server holds at one time, in bytes;
    the first 16 KiB of each are not counted. Beyond it, large ones get 429 `system_busy`."""

    max_clip_bytes: int = Field(25_000_000, ge=1000)
    """The maximum size of a request body with recordings of a voice, in bytes; a larger one gets 413."""

    max_custom_voices: int = Field(1_000, ge=0)
    """The maximum number of custom voices; beyond it, cloning gets 400 `voice_limit_reached`. 0 turns cloning off."""

    max_dictionaries: int = Field(1_000, ge=0)
    """The maximum number of pronunciation dictionaries; beyond it, adding one gets 400
    `pronunciation_dictionary_limit_reached`."""

    key_max_voices: int = Field(default_factory=_count_for_one_key("max_custom_voices"), ge=0)
    """SVC_MAX_CUSTOM_VOICES for each key of SVC_API_KEYS_TABLE; by default a quarter of it. `svc keys create
    --max-voices` sets another for one key."""

    key_max_dictionaries: int = Field(default_factory=_count_for_one_key("max_dictionaries"), ge=0)
    """SVC_MAX_DICTIONARIES for each key of SVC_API_KEYS_TABLE; by default a quarter of it."""

    keep_references: bool = True
    """Keep the speech that a custom voice was cloned from, at most 20 seconds, to improve the voice later."""

    require_consent: bool = False
    """Clone a voice only if the request has `consent=true`; otherwise it gets 403 `consent_required`."""

    refine_voices: bool = Field(True, validate_default=False)
    """Refine every new English custom voice in the background, to make it more similar to its recording, unless the
    request has `refine=false`. If off, and in other languages, only voices whose request has `refine=true` are refined.
    Needs SVC_KEEP_REFERENCES: without it no voice is refined by default."""

    watermark: bool = False
    """Add an inaudible watermark to the speech of custom voices; `svc watermark check` detects it."""

    voice_sharing: Literal["shared", "private"] = "shared"
    """Who may use a custom voice or a pronunciation dictionary that a key of SVC_API_KEYS_TABLE made: every key
    (`shared`), or that key alone (`private`). Either way only that key may change or remove it, besides the keys of
    SVC_API_KEY and SVC_API_KEYS."""

    voice_mirror: str | None = None
    """Object storage that custom voices and pronunciation dictionaries are mirrored to and shared through:
    `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`. Credentials are read from the usual variables of each
    cloud, such as AWS_ACCESS_KEY_ID."""

    voice_mirror_seconds: float = Field(15, gt=0)
    """The interval, in seconds, at which the mirror is checked for what other servers added, changed or removed."""

    model_aliases: str = ""
    """Comma-separated model ids to list in addition, for clients that look for a certain one."""

    allowed_hosts: str = ""
    """Comma-separated names under which clients reach the service, such as `speech.example.com`; `*` allows all. By
    default all are allowed if keys are required, and an open service answers to addresses and to local names only."""

    cors_origins: str = ""
    """Comma-separated origins whose pages may call the service; `*` allows all. By default all are allowed if keys are
    required, and only pages on this machine if the service is open."""

    max_streams: int = Field(default_factory=_count_streams, ge=1)
    """The maximum number of texts synthesized at once, by all keys together; by default 16 for each worker. Fewer are
    admitted when the engine could not synthesize that many in real time: see SVC_MAX_LOAD."""

    max_load: float = Field(0.5, gt=0, le=1)
    """The share of the engine's time that admitted streams may need. What they need follows from the measured
    real-time factor; a stream beyond it waits, and then gets 429 `system_busy`. Whole clips take the time that is
    left."""

    max_waiting: int = Field(default_factory=lambda data: 2 * data.get("max_streams", 32), ge=0)
    """The maximum number of streams that wait for their turn, by all keys together, and of whole clips; by default
    twice as many as SVC_MAX_STREAMS. Further ones get 429 `system_busy` at once."""

    queue_seconds: float = Field(2, ge=0)
    """How long a stream or a text on a socket waits for its turn, in seconds, before it gets 429."""

    clip_queue_seconds: float = Field(300, ge=0)
    """How long a request for a whole clip waits for its turn, in seconds, before it gets 429. Nobody listens to it
    yet, so it is made behind the streams, in the time that they leave."""

    max_characters_per_minute: int | None = Field(None, ge=1)
    """The maximum number of characters synthesized in a minute, by all keys together; by default unlimited. Requests
    beyond it get 429 `rate_limit_exceeded`."""

    key_max_streams: int | None = Field(None, ge=1)
    """SVC_MAX_STREAMS for each key; by default three quarters of it if there are several keys. Requests beyond it
    wait, and then get 429 `too_many_concurrent_requests`. `svc keys create --max-streams` sets another for one key."""

    key_max_waiting: int | None = Field(None, ge=0)
    """SVC_MAX_WAITING for each key."""

    key_max_characters_per_minute: int | None = Field(None, ge=1)
    """SVC_MAX_CHARACTERS_PER_MINUTE for each key."""

    token_max_characters_per_minute: int = Field(default_factory=lambda data: data.get("max_characters", 40_000), ge=1)
    """SVC_MAX_CHARACTERS_PER_MINUTE for each token of a browser, within what its key may; by default
    SVC_MAX_CHARACTERS, the longest text of one request."""

    redis_url: SecretStr | None = None
    """A Redis server through which the limits hold for all replicas together: `redis://host:6379/0`. While it is
    unavailable, every replica applies them by itself."""

    max_sockets: int = Field(256, ge=1)
    """The maximum number of open realtime sockets; further ones get 429 `system_busy`. Where Wyoming is served, a
    quarter of them are for its connections."""

    key_max_sockets: int | None = Field(None, ge=1)
    """SVC_MAX_SOCKETS for each key; by default three quarters of it if there are several keys. `svc keys create
    --max-sockets` sets another for one key."""

    max_connections: int = Field(2_000, ge=1)
    """The maximum number of open connections; further ones are closed at once."""

    header_seconds: float = Field(15, gt=0)
    """The timeout for receiving the headers of a request, in seconds; a slower connection is closed."""

    stall_seconds: float = Field(20, gt=0)
    """A client that reads nothing of its response for so many seconds is disconnected."""

    shutdown_seconds: float = Field(20, ge=0)
    """How long a server that is shutting down finishes the requests that it has, in seconds."""

    log_format: Literal["text", "json"] = "text"
    """The format of the log: `text`, or `json`, one object on each line."""

    api_key: SecretStr | None = None
    """A key that clients must send. With no key and no keys table, the service is open to everyone who can reach it."""

    api_keys: SecretStr | None = None
    """Further keys, comma-separated."""

    api_keys_table: SecretStr | None = None
    """The database for keys made with `svc keys`: `sqlite:///keys.db` or `postgresql://user:password@host/name`."""

    keys_cache_seconds: float = Field(5, ge=0, le=60)
    """How long a key from the table is cached, in seconds. All replicas notice a revoked key within that time."""

    keys_grace_seconds: float = Field(0, ge=0)
    """How long recently used keys keep working while the database is unavailable, in seconds; 0 means not at all."""

    wyoming_open: bool = False
    """Serve Wyoming although keys are required. It knows none: everyone who can reach SVC_WYOMING_PORT may speak."""

    wyoming_port: int | None = Field(None, ge=0, le=65535)
    """The port for Wyoming, the protocol of Home Assistant, usually 10200; 0 picks a free port, and without one it is
    off. The address is SVC_HOST. If keys are required, it needs SVC_WYOMING_OPEN."""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        """An empty variable counts as one that is not set. If all variables for keys are empty, they are kept, and
        rejected below: what should have filled them has failed, and that must not open the service."""
        filled = {name: value for name, value in values.items() if value != ""}
        if not any(name in filled for name in _KEYS):
            filled |= {name: values[name] for name in _KEYS if name in values}
        return filled

    @field_validator("wyoming_port")
    @classmethod
    def _needs_no_keys(cls, value: int | None, others: ValidationInfo) -> int | None:
        has_keys = any(others.data.get(name) for name in _KEYS)
        if value is not None and has_keys and not others.data.get("wyoming_open"):
            raise ValueError(
                "Wyoming knows no keys, which this server requires; SVC_WYOMING_OPEN=1 serves it all the same"
            )
        return value

    @field_validator("api_key", "api_keys")
    @classmethod
    def _holds_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        """A value without a key is an error: a mistake in the configuration must not open the service."""
        if value is not None and not split_words(value.get_secret_value()):
            raise ValueError("contains no key; set one, or unset the variable for an open server")
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
            raise ValueError("refining needs the recordings; set SVC_KEEP_REFERENCES=1")
        return value

    @field_validator("api_keys_table")
    @classmethod
    def _is_a_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            return SecretStr(normalise_database_url(value.get_secret_value()))
        return value

    @field_validator("redis_url")
    @classmethod
    def _is_a_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _is_redis_url(value.get_secret_value()):
            raise ValueError("not a Redis server: use redis://:password@host:6379/0, with the password %-encoded")
        return value

    def has_several_keys(self) -> bool:
        return self.api_keys_table is not None or len(self.static_keys()) > 1

    @property
    def is_exposed(self) -> bool:
        """Whether a service without keys listens on more than the loopback interface."""
        return not self.static_keys() and self.api_keys_table is None and not _is_loopback(self.host)

    def static_keys(self) -> list[str]:
        """The keys of SVC_API_KEY and SVC_API_KEYS."""
        one = [self.api_key.get_secret_value().strip()] if self.api_key else []
        return one + (split_words(self.api_keys.get_secret_value()) if self.api_keys else [])


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def split_words(words: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word for part in words.split(",") if (word := part.strip())]


def _is_redis_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("redis", "rediss") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port; its message quotes parts of the URL, which may contain a password
        return False


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


def normalise_database_url(url: str) -> str:
    """The URL with a plain scheme; raises `ValueError`, without quoting the URL: it may contain a password."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = _DATABASES.get(scheme.lower().partition("+")[0], "")  # without the driver, which svc chooses
    plain = f"{scheme}{separator}{rest}"
    if scheme == "postgresql" and rest:
        return plain
    if plain.startswith(_SQLITE) and plain.removeprefix(_SQLITE).strip("/") not in ("", ":memory:"):
        return plain
    raise ValueError("not a database that can hold keys: use sqlite:///keys.db or postgresql://user:password@host/name")
