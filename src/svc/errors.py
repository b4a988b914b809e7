"""Every error that a caller can meet: its HTTP status, its `status` string and its words.

    SvcError
    ├── InvalidOutputFormat   400  invalid_output_format
    ├── TextTooLong           400  max_character_limit_exceeded
    ├── UnknownTokenType      400  unknown_token_type
    ├── NotAudio              400  not_audio
    ├── ClipDamaged           400  clip_damaged
    ├── ClipSilent            400  clip_silent
    ├── NoSpeech              400  no_speech
    ├── ClipTooShort          400  clip_too_short
    ├── BuiltInVoice          400  built_in_voice
    ├── VoiceLimitReached     400  voice_limit_reached
    ├── NoReference           400  no_reference
    ├── InvalidMessage        400  invalid_input_message
    ├── BinaryMessage         400  invalid_input_message
    ├── TooManyContexts       400  too_many_contexts
    ├── MissingApiKey         401  missing_api_key
    ├── InvalidApiKey         401  invalid_api_key
    ├── InsufficientScope     401  insufficient_scope
    ├── ConsentRequired       403  consent_required
    ├── ForeignPage           403  origin_not_allowed
    ├── VoiceNotFound         404  voice_not_found
    ├── HistoryItemNotFound   404  history_item_not_found
    ├── BodyTimeout           408  request_timeout
    ├── InputTimeout          408  input_timeout_exceeded
    ├── BodyTooLarge          413  request_too_large
    ├── MessageTooLarge       413  message_too_large
    ├── UnsupportedMediaType  415  unsupported_media_type
    ├── Busy                  429  system_busy
    ├── CloningBusy           429  system_busy
    ├── TooManySockets        429  system_busy
    ├── InternalError         500  internal_error
    ├── NotSupported          501  not_supported
    ├── KeysUnavailable       503  keys_unavailable
    ├── StorageUnavailable    503  storage_unavailable
    ├── ModelLoading          503  model_loading
    ├── ShuttingDown          503  shutting_down
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

    @property
    def close_code(self) -> int:
        """What closes a socket for it: 1008 is the client's fault, 1011 the server's, 1013 nobody's for long."""
        return {500: 1011, 429: 1013, 503: 1013}.get(self.http_status, 1008)


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


class NotAudio(SvcError):
    http_status = 400
    status = "not_audio"

    def __init__(self) -> None:
        super().__init__("The file holds no sound that this server can read. Send WAV, MP3, M4A, OGG, FLAC or WebM.")


class ClipDamaged(SvcError):
    http_status = 400
    status = "clip_damaged"

    def __init__(self) -> None:
        super().__init__("The recording is damaged or cut off, so that it cannot be read. Save or record it again.")


class ClipSilent(SvcError):
    http_status = 400
    status = "clip_silent"

    def __init__(self) -> None:
        super().__init__("The recording is silent. Check the microphone, and record 10 to 20 seconds of speech.")


class NoSpeech(SvcError):
    http_status = 400
    status = "no_speech"

    def __init__(self) -> None:
        super().__init__("No speech was found, only noise or music. Send 10 to 20 seconds of one person speaking.")


class ClipTooShort(SvcError):
    http_status = 400
    status = "clip_too_short"

    def __init__(self, seconds: float, least: float) -> None:
        super().__init__(
            f"There are {seconds:.1f} seconds of speech in the recording; a voice needs at least {least:g}, "
            "and sounds best with 10 to 20."
        )


class BuiltInVoice(SvcError):
    http_status = 400
    status = "built_in_voice"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} came with the server. Only voices that were cloned can be changed or removed.")


class VoiceLimitReached(SvcError):
    http_status = 400
    status = "voice_limit_reached"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"This server keeps {limit} custom voices, and it has them. Remove one, or raise SVC_MAX_CUSTOM_VOICES."
        )


class NoReference(SvcError):
    http_status = 400
    status = "no_reference"

    def __init__(self) -> None:
        super().__init__(
            "A voice is refined by comparing it with its recording, and that was not kept (SVC_KEEP_REFERENCES)."
        )


class InvalidMessage(SvcError):
    http_status = 400
    status = "invalid_input_message"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The message was not understood: {problem[:200]}.")


class BinaryMessage(SvcError):
    http_status = 400
    status = "invalid_input_message"
    close_code = 1003

    def __init__(self) -> None:
        super().__init__("The message was not understood: it is binary. Send JSON in text frames.")


class TooManyContexts(SvcError):
    http_status = 400
    status = "too_many_contexts"

    def __init__(self, limit: int) -> None:
        super().__init__(f"There are {limit} open contexts on this socket already. Close one first.")


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


class ConsentRequired(SvcError):
    http_status = 403
    status = "consent_required"

    def __init__(self) -> None:
        super().__init__(
            "This server clones a voice only with the consent of whose it is. "
            "Send consent=true if you have it (SVC_REQUIRE_CONSENT)."
        )


class ForeignPage(SvcError):
    http_status = 403
    status = "origin_not_allowed"

    def __init__(self) -> None:
        super().__init__("Pages of this origin may not use this server. Name it in SVC_CORS_ORIGINS to allow it.")


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


class InputTimeout(SvcError):
    http_status = 408
    status = "input_timeout_exceeded"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Nothing was received for {seconds:g} seconds (inactivity_timeout).")


class BodyTooLarge(SvcError):
    http_status = 413
    status = "request_too_large"

    def __init__(self, limit: int, setting: str = "SVC_MAX_BODY_BYTES") -> None:
        super().__init__(f"The request's body is larger than {limit} bytes ({setting}).")


class MessageTooLarge(SvcError):
    http_status = 413
    status = "message_too_large"
    close_code = 1009

    def __init__(self, limit: int) -> None:
        super().__init__(f"The message is larger than {limit} characters. Send the text in several messages.")


class UnsupportedMediaType(SvcError):
    http_status = 415
    status = "unsupported_media_type"

    def __init__(self, content_type: str, wanted: str = "JSON (Content-Type: application/json)") -> None:
        super().__init__(f"Send {wanted}, not {content_type[:60]}.")


class Busy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int) -> None:
        super().__init__(f"The server is already speaking {limit} texts at once. Try again in a moment.")


class CloningBusy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("Several voices are being cloned already. Try again in a few seconds.")


class TooManySockets(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int) -> None:
        super().__init__(f"There are {limit} open sockets already (SVC_MAX_SOCKETS). Try again in a moment.")


class InternalError(SvcError):
    def __init__(self) -> None:
        super().__init__("Something went wrong. The server's log tells more.")


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


class StorageUnavailable(SvcError):
    """The disk does not take a voice. `reason` is for the log and the command line; callers are not told."""

    http_status = 503
    status = "storage_unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__("The server cannot keep the voice: its disk is full or does not answer. Nothing was changed.")
        self.reason = reason


class ModelLoading(SvcError):
    http_status = 503
    status = "model_loading"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The engine is still warming up. Try again in a few seconds.")


class ShuttingDown(SvcError):
    http_status = 503
    status = "shutting_down"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The server is shutting down. Connect again in a few seconds.")


class EngineUnavailable(SvcError):
    """The engine could not be loaded; the message says why and what helps."""

    http_status = 503
    status = "engine_unavailable"
