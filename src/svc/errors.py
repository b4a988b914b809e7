"""Every error that a caller can meet: its HTTP status, its `status` string and its words.

    SvcError
    ├── InvalidOutputFormat   400  invalid_output_format
    ├── TextTooLong           400  max_character_limit_exceeded
    ├── UnknownTokenType      400  unknown_token_type
    ├── MissingApiKey         401  missing_api_key
    ├── InvalidApiKey         401  invalid_api_key
    ├── InsufficientScope     401  insufficient_scope
    ├── VoiceNotFound         404  voice_not_found
    ├── HistoryItemNotFound   404  history_item_not_found
    ├── BodyTimeout           408  request_timeout
    ├── BodyTooLarge          413  request_too_large
    ├── UnsupportedMediaType  415  unsupported_media_type
    ├── Busy                  429  system_busy
    ├── NotSupported          501  not_supported
    ├── KeysUnavailable       503  keys_unavailable
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


class UnknownTokenType(SvcError):
    http_status = 400
    status = "unknown_token_type"

    def __init__(self, valid: Iterable[str]) -> None:
        super().__init__(f"This server makes no tokens of that type. Valid types: {', '.join(valid)}.")


class MissingApiKey(SvcError):
    http_status = 401
    status = "missing_api_key"

    def __init__(self) -> None:
        super().__init__("This server asks for a key. Send it as 'Authorization: Bearer <key>' or as 'xi-api-key'.")


class InvalidApiKey(SvcError):
    http_status = 401
    status = "invalid_api_key"

    def __init__(self) -> None:
        super().__init__("The key is not one that this server knows, or it is no longer valid.")


class InsufficientScope(SvcError):
    http_status = 401
    status = "insufficient_scope"

    def __init__(self) -> None:
        super().__init__("This credential may only speak and look at voices. The request needs a full API key.")


class VoiceNotFound(SvcError):
    http_status = 404
    status = "voice_not_found"

    def __init__(self, voice_id: str) -> None:
        super().__init__(f"There is no voice '{voice_id[:60]}'. GET /v1/voices lists the voices.")


class HistoryItemNotFound(SvcError):
    http_status = 404
    status = "history_item_not_found"

    def __init__(self, item_id: str) -> None:
        super().__init__(f"There is no history item '{item_id[:60]}': what was spoken is not kept.")


class BodyTimeout(SvcError):
    http_status = 408
    status = "request_timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The request's body did not arrive within {seconds:g} seconds.")


class BodyTooLarge(SvcError):
    http_status = 413
    status = "request_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request's body is larger than {limit} bytes (SVC_MAX_BODY_BYTES).")


class UnsupportedMediaType(SvcError):
    http_status = 415
    status = "unsupported_media_type"

    def __init__(self, content_type: str) -> None:
        super().__init__(f"Send JSON (Content-Type: application/json), not {content_type[:60]}.")


class Busy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int) -> None:
        super().__init__(f"The server is already speaking {limit} texts at once. Try again in a moment.")


class NotSupported(SvcError):
    http_status = 501
    status = "not_supported"


class KeysUnavailable(SvcError):
    """The keys table cannot be asked. `reason` is for the log and the command line; callers are not told."""

    http_status = 503
    status = "keys_unavailable"
    retry_after = 2

    def __init__(self, reason: str) -> None:
        super().__init__("The server cannot check keys at the moment. Try again in a few seconds.")
        self.reason = reason


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
