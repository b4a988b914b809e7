"""Every error that a caller can meet: its HTTP status, its `status` string and its words.

    SvcError
    ├── InvalidOutputFormat   400  invalid_output_format
    ├── TextTooLong           400  max_character_limit_exceeded
    ├── VoiceNotFound         404  voice_not_found
    ├── Busy                  429  system_busy
    ├── SynthesisFailed       500  synthesis_failed
    ├── ModelLoading          503  model_loading
    └── EngineUnavailable     503  engine_unavailable

A request that does not fit the schema is a 422 with a validation-detail array; pydantic makes that one.
"""

from collections.abc import Iterable


class SvcError(Exception):
    """An error with a name: rendered as `{"detail": {"status": …, "message": …}}`."""

    http_status = 500
    status = "internal_error"
    retry_after: int | None = None

    @property
    def message(self) -> str:
        return str(self)


class InvalidOutputFormat(SvcError):
    http_status = 400
    status = "invalid_output_format"

    def __init__(self, name: str, valid: Iterable[str]) -> None:
        super().__init__(f"Unknown output_format '{name[:60]}'. Valid values: {', '.join(valid)}.")


class TextTooLong(SvcError):
    http_status = 400
    status = "max_character_limit_exceeded"

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The text has {length} characters; this server takes {limit} in one request. "
            "Split it, or raise SVC_MAX_CHARACTERS."
        )


class VoiceNotFound(SvcError):
    http_status = 404
    status = "voice_not_found"

    def __init__(self, voice_id: str) -> None:
        super().__init__(f"There is no voice '{voice_id[:60]}'. GET /v1/voices lists the voices.")


class Busy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int) -> None:
        super().__init__(f"The server is already speaking {limit} texts at once. Try again in a moment.")


class SynthesisFailed(SvcError):
    http_status = 500
    status = "synthesis_failed"


class ModelLoading(SvcError):
    http_status = 503
    status = "model_loading"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The engine is still warming up. Try again in a few seconds.")


class EngineUnavailable(SvcError):
    """The engine could not be loaded; the message says why and what helps."""

    http_status = 503
    status = "engine_unavailable"
