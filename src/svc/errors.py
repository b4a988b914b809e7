"""Every error that a client can get: its HTTP status, its `status` string, its message, and the parameter at fault.

    SvcError
    ├── InvalidHttp           400  invalid_request
    ├── InvalidOutputFormat   400  invalid_output_format
    ├── TextTooLong           400  max_character_limit_exceeded
    ├── AudioTooLong          400  max_audio_seconds_exceeded
    ├── UnknownTokenType      400  unknown_token_type
    ├── NotAudio              400  not_audio
    ├── ClipDamaged           400  clip_damaged
    ├── ClipSilent            400  clip_silent
    ├── NoSpeech              400  no_speech
    ├── ClipTooShort          400  clip_too_short
    ├── BuiltInVoice          400  built_in_voice
    ├── MixedVoice            400  mixed_voice
    ├── VoiceLimitReached     400  voice_limit_reached
    ├── NoReference           400  no_reference
    ├── InvalidPageToken      400  invalid_page_token
    ├── InvalidCursor         400  invalid_cursor
    ├── InvalidLexicon        400  invalid_lexicon
    ├── DictionaryLimitReached  400  pronunciation_dictionary_limit_reached
    ├── InvalidForm           400  invalid_form
    ├── UploadInterrupted     400  upload_interrupted
    ├── InvalidMessage        400  invalid_input_message
    ├── BinaryMessage         400  invalid_input_message
    ├── TooManyContexts       400  too_many_contexts
    ├── MissingApiKey         401  missing_api_key
    ├── InvalidApiKey         401  invalid_api_key
    ├── InsufficientScope     401  insufficient_scope
    ├── ConsentRequired       403  consent_required
    ├── NotVoiceOwner         403  not_voice_owner
    ├── NotDictionaryOwner    403  not_pronunciation_dictionary_owner
    ├── OriginNotAllowed      403  origin_not_allowed
    ├── HostNotAllowed        403  host_not_allowed
    ├── VoiceNotFound         404  voice_not_found
    ├── ModelNotFound         404  model_not_found
    ├── HistoryItemNotFound   404  history_item_not_found
    ├── PathNotFound          404  not_found
    ├── NotOffered            404  not_offered
    ├── DictionaryNotFound    404  pronunciation_dictionary_not_found
    ├── BodyTimeout           408  request_timeout
    ├── InputTimeout          408  input_timeout_exceeded
    ├── BodyTooLarge          413  request_too_large
    ├── MessageTooLarge       413  message_too_large
    ├── AddressTooLong        414  address_too_long
    ├── UnsupportedMediaType  415  unsupported_media_type
    ├── RangeNotSatisfiable   416  range_not_satisfiable
    ├── TooManyConcurrentRequests  429  too_many_concurrent_requests
    ├── RateLimitExceeded     429  rate_limit_exceeded
    ├── Busy                  429  system_busy
    ├── CloningBusy           429  system_busy
    ├── PreviewsBusy          429  system_busy
    ├── TooManySockets        429  system_busy
    ├── InputBusy             429  system_busy
    ├── ClientDisconnected    499  client_disconnected
    ├── InternalError         500  internal_error
    ├── NotSupported          501  not_supported
    ├── KeysUnavailable       503  keys_unavailable
    ├── StorageUnavailable    503  storage_unavailable
    ├── ModelLoading          503  model_loading
    ├── ShuttingDown          503  shutting_down
    └── EngineUnavailable     503  engine_unavailable

A request that does not match the schema gets a 422 with a list of validation errors, which pydantic writes.
"""

import math
from collections.abc import Iterable
from typing import Literal

_TYPES = {
    401: "authentication_error",
    403: "authorization_error",
    404: "not_found",
    429: "rate_limit_error",
    503: "service_unavailable",
}


def classify(http_status: int) -> str:
    """The `type` of an error: a coarse class, which follows from the HTTP status."""
    return _TYPES.get(http_status, "validation_error" if http_status < 500 else "internal_error")


class SvcError(Exception):
    """Rendered as `{"detail": {"status": …, "message": …, "type": …, "code": …, "request_id": …, "param": …}}`."""

    http_status = 500
    status = "internal_error"
    code: str | None = None
    """The newer name of the `status`, where the imitated API has one."""
    param: str | None = None
    """The field or parameter at fault."""
    retry_after: int | None = None

    @property
    def message(self) -> str:
        return str(self)

    @property
    def close_code(self) -> int:
        """The WebSocket close code: 1008 for client errors, 1011 for server errors, 1013 for temporary ones."""
        return {500: 1011, 429: 1013, 503: 1013}.get(self.http_status, 1008)


class InvalidHttp(SvcError):
    http_status = 400
    status = "invalid_request"

    def __init__(self) -> None:
        super().__init__("The request is not valid HTTP/1.1, or its length is ambiguous.")


class InvalidOutputFormat(SvcError):
    http_status = 400
    status = "invalid_output_format"
    param = "output_format"

    def __init__(self, name: str, valid: Iterable[str]) -> None:
        super().__init__(f"Unknown output_format '{name[:60]}'. Valid values: {', '.join(valid)}.")


class TextTooLong(SvcError):
    http_status = 400
    status = "max_character_limit_exceeded"
    code = "text_too_long"
    param = "text"

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The text has {length} characters; the limit is {limit} (SVC_MAX_CHARACTERS). "
            "Send it in several requests, or raise the limit."
        )


class AudioTooLong(SvcError):
    http_status = 400
    status = "max_audio_seconds_exceeded"
    param = "text"

    def __init__(self, seconds: float | None, limit: float) -> None:
        """`seconds` is how long the audio would be; None if that is not known."""
        length = f"{seconds:.0f} seconds of audio" if seconds is not None else "more audio"
        super().__init__(
            f"The text would become {length}; the limit is {limit:g} seconds (SVC_MAX_AUDIO_SECONDS). "
            "Shorten its breaks, send it in several requests, or raise the limit."
        )


class UnknownTokenType(SvcError):
    http_status = 400
    status = "unknown_token_type"
    param = "token_type"

    def __init__(self, valid: Iterable[str]) -> None:
        super().__init__(f"Unknown token type. Valid values: {', '.join(valid)}.")


class NotAudio(SvcError):
    http_status = 400
    status = "not_audio"
    param = "files"

    def __init__(self) -> None:
        super().__init__("The file contains no audio that can be decoded. Send WAV, MP3, M4A, OGG, FLAC or WebM.")


class ClipDamaged(SvcError):
    http_status = 400
    status = "clip_damaged"
    param = "files"

    def __init__(self) -> None:
        super().__init__("The recording is damaged or truncated. Export or record it again.")


class ClipSilent(SvcError):
    http_status = 400
    status = "clip_silent"
    param = "files"

    def __init__(self) -> None:
        super().__init__("The recording is silent. Check the microphone and record 10 to 20 seconds of speech.")


class NoSpeech(SvcError):
    http_status = 400
    status = "no_speech"
    param = "files"

    def __init__(self) -> None:
        super().__init__("The recording contains no speech. Send 10 to 20 seconds of one person speaking.")


class ClipTooShort(SvcError):
    http_status = 400
    status = "clip_too_short"
    param = "files"

    def __init__(self, seconds: float, least: float, of_speech: bool = True) -> None:
        """`seconds` is how much speech there is or, if not `of_speech`, how long the whole recording is."""
        shown = math.floor(10 * seconds) / 10  # rounded up it might be as much as is needed
        found = f"contains {shown:.1f} seconds of speech" if of_speech else f"is only {shown:.1f} seconds long"
        super().__init__(
            f"The recording {found}. Cloning needs at least {least:g} seconds of speech; 10 to 20 work best."
        )


class BuiltInVoice(SvcError):
    http_status = 400
    status = "built_in_voice"
    param = "voice_id"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is a built-in voice. Only cloned voices can be changed or removed.")


class MixedVoice(SvcError):
    http_status = 400
    status = "mixed_voice"
    param = "voice_id"

    def __init__(self, voice_id: str) -> None:
        super().__init__(
            f"'{voice_id[:60]}' is a mix that is not stored, so it cannot be changed or removed. "
            "POST /v1/voices/mix keeps a mix as a custom voice."
        )


class VoiceLimitReached(SvcError):
    http_status = 400
    status = "voice_limit_reached"

    def __init__(self, limit: float, *, of_key: bool = False) -> None:
        super().__init__(
            f"This key has {limit} custom voices, its limit (SVC_KEY_MAX_VOICES, or --max-voices of `svc keys`). "
            "Remove one."
            if of_key
            else f"The limit of {limit} custom voices is reached. Remove one, or raise SVC_MAX_CUSTOM_VOICES."
        )


class NoReference(SvcError):
    http_status = 400
    status = "no_reference"
    param = "voice_id"

    def __init__(self) -> None:
        super().__init__(
            "Refining needs the recording that the voice was cloned from, which was not kept (SVC_KEEP_REFERENCES)."
        )


class InvalidPageToken(SvcError):
    http_status = 400
    status = "invalid_page_token"

    def __init__(self) -> None:
        super().__init__("Unknown next_page_token. Send the one of the page before, or none for the first page.")


class InvalidCursor(SvcError):
    http_status = 400
    status = "invalid_cursor"
    param = "cursor"

    def __init__(self) -> None:
        super().__init__("Unknown cursor. Send the next_cursor of the page before, or none for the first page.")


class InvalidLexicon(SvcError):
    http_status = 400
    status = "invalid_lexicon"
    param = "file"

    def __init__(self, problem: str, line: int | None = None) -> None:
        where = "" if line is None else f", line {line}"
        super().__init__(f"The file is not a lexicon (PLS 1.0){where}: {problem[:200]}.")


class DictionaryLimitReached(SvcError):
    http_status = 400
    status = "pronunciation_dictionary_limit_reached"

    def __init__(self, limit: float, *, of_key: bool = False) -> None:
        super().__init__(
            f"This key has {limit} pronunciation dictionaries, its limit (SVC_KEY_MAX_DICTIONARIES, or "
            "--max-dictionaries of `svc keys`). Remove one."
            if of_key
            else f"The limit of {limit} pronunciation dictionaries is reached. Remove one, or raise "
            "SVC_MAX_DICTIONARIES."
        )


class InvalidForm(SvcError):
    http_status = 400
    status = "invalid_form"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The form cannot be read: {problem[:200]}")


class UploadInterrupted(SvcError):
    """The client hung up before its body was complete, so nobody reads this."""

    http_status = 400
    status = "upload_interrupted"

    def __init__(self) -> None:
        super().__init__("The connection was closed before the whole body was received.")


class InvalidMessage(SvcError):
    http_status = 400
    status = "invalid_input_message"

    def __init__(self, problem: str, param: str | None = None) -> None:
        super().__init__(f"Invalid message: {problem[:200]}.")
        self.param = param


class BinaryMessage(SvcError):
    http_status = 400
    status = "invalid_input_message"
    close_code = 1003

    def __init__(self) -> None:
        super().__init__("Binary messages are not supported. Send JSON in text frames.")


class TooManyContexts(SvcError):
    http_status = 400
    status = "too_many_contexts"
    param = "context_id"

    def __init__(self, limit: int) -> None:
        super().__init__(f"This socket already has {limit} open contexts, the limit. Close one first.")


_HOW_TO_SEND = "Send it as 'Authorization: Bearer <key>' or 'xi-api-key: <key>'."


class MissingApiKey(SvcError):
    http_status = 401
    status = "missing_api_key"

    def __init__(self) -> None:
        super().__init__(f"This server requires an API key. {_HOW_TO_SEND}")


class InvalidApiKey(SvcError):
    http_status = 401
    status = "invalid_api_key"

    def __init__(self) -> None:
        super().__init__(f"The API key is unknown or no longer valid. {_HOW_TO_SEND}")


class InsufficientScope(SvcError):
    http_status = 401
    status = "insufficient_scope"
    code = "insufficient_permissions"

    def __init__(self) -> None:
        super().__init__(
            "This credential may only synthesize speech and list voices. The request needs a full API key."
        )


class ConsentRequired(SvcError):
    http_status = 403
    status = "consent_required"
    param = "consent"

    def __init__(self) -> None:
        super().__init__(
            "This server requires the speaker's consent to clone a voice (SVC_REQUIRE_CONSENT). "
            "If you have it, send consent=true."
        )


class NotVoiceOwner(SvcError):
    http_status = 403
    status = "not_voice_owner"
    param = "voice_id"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The voice {name[:60]} belongs to another key. Only that key, a key of SVC_API_KEY or SVC_API_KEYS, "
            "or `svc voices` on the server can change or remove it."
        )


class NotDictionaryOwner(SvcError):
    http_status = 403
    status = "not_pronunciation_dictionary_owner"
    param = "pronunciation_dictionary_id"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The pronunciation dictionary {name[:60]} belongs to another key. Only that key, a key of SVC_API_KEY or "
            "SVC_API_KEYS, or `svc dictionaries` on the server can change or remove it."
        )


class OriginNotAllowed(SvcError):
    http_status = 403
    status = "origin_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            "Pages of this origin may not use this server. To allow them, add the origin to SVC_CORS_ORIGINS."
        )


class HostNotAllowed(SvcError):
    http_status = 403
    status = "host_not_allowed"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"This server does not answer to the name '{host[:60]}'. To allow it, add it to SVC_ALLOWED_HOSTS. "
            "A server without keys answers to addresses and local names only, so that no web page can reach it."
        )


class VoiceNotFound(SvcError):
    http_status = 404
    status = "voice_not_found"
    param = "voice_id"

    def __init__(self, voice_id: str, reason: str = "GET /v1/voices lists the voices.") -> None:
        super().__init__(f"Voice '{voice_id[:60]}' not found. {reason}")


class ModelNotFound(SvcError):
    http_status = 404
    status = "model_not_found"
    param = "model"

    def __init__(self, model_id: str) -> None:
        super().__init__(f"The model '{model_id[:60]}' does not exist. GET /openai/v1/models lists the models.")


class HistoryItemNotFound(SvcError):
    http_status = 404
    status = "history_item_not_found"
    param = "history_item_id"

    def __init__(self, item_id: str) -> None:
        super().__init__(f"History item '{item_id[:60]}' not found. This server keeps no history.")


class PathNotFound(SvcError):
    http_status = 404
    status = "not_found"

    def __init__(self, meant: str | None = None) -> None:
        """`meant` is a path that does exist and differs as it does with a wrong base URL."""
        hint = f"Did you mean {meant[:100]}? Check the base URL of your client" if meant else "/docs has the reference"
        super().__init__(f"This path does not exist. {hint}.")


class NotOffered(SvcError):
    http_status = 404
    status = "not_offered"

    def __init__(self, feature: str) -> None:
        super().__init__(f"This server does not offer {feature}. /docs has what it offers.")


class DictionaryNotFound(SvcError):
    http_status = 404
    status = "pronunciation_dictionary_not_found"
    param = "pronunciation_dictionary_id"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Pronunciation dictionary '{name[:60]}' not found. GET /v1/pronunciation-dictionaries lists them."
        )


class BodyTimeout(SvcError):
    http_status = 408
    status = "request_timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The request body did not arrive within {seconds:g} seconds.")


class InputTimeout(SvcError):
    http_status = 408
    status = "input_timeout_exceeded"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"No message was received for {seconds:g} seconds (inactivity_timeout).")


class BodyTooLarge(SvcError):
    http_status = 413
    status = "request_too_large"

    def __init__(self, limit: int, setting: str = "SVC_MAX_BODY_BYTES") -> None:
        super().__init__(f"The request body is larger than {limit} bytes ({setting}).")


class MessageTooLarge(SvcError):
    http_status = 413
    status = "message_too_large"
    close_code = 1009

    def __init__(self, limit: int) -> None:
        super().__init__(f"The message is larger than {limit} characters. Send the text in several messages.")


class AddressTooLong(SvcError):
    http_status = 414
    status = "address_too_long"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The path and the query are longer than {limit} bytes.")


class UnsupportedMediaType(SvcError):
    http_status = 415
    status = "unsupported_media_type"

    def __init__(self, content_type: str, wanted: str = "JSON (Content-Type: application/json)") -> None:
        super().__init__(f"Send {wanted}, not {content_type[:60]}.")


class RangeNotSatisfiable(SvcError):
    http_status = 416
    status = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"The range is not within the {size} bytes that there are.")


class TooManyConcurrentRequests(SvcError):
    http_status = 429
    status = "too_many_concurrent_requests"
    code = "concurrent_limit_exceeded"

    def __init__(self, limit: int, retry_after: float = 1) -> None:
        super().__init__(
            f"This key is already synthesizing {limit} texts at once, its limit (SVC_KEY_MAX_STREAMS, or --max-streams "
            "of `svc keys`). Wait until one of them is done."
        )
        self.retry_after = _to_whole_seconds(retry_after)


class RateLimitExceeded(SvcError):
    http_status = 429
    status = "rate_limit_exceeded"

    def __init__(self, limit: int, retry_after: float, whose: Literal["key", "token", "all keys"] = "key") -> None:
        """`retry_after` is infinite for a text that is longer than a minute's allowance."""
        who, setting = {
            "key": ("This key", "SVC_KEY_MAX_CHARACTERS_PER_MINUTE, or --max-characters-per-minute of `svc keys`"),
            "token": ("This token", "SVC_TOKEN_MAX_CHARACTERS_PER_MINUTE"),
            "all keys": ("All keys together", "SVC_MAX_CHARACTERS_PER_MINUTE"),
        }[whose]
        advice = "Send shorter texts." if math.isinf(retry_after) else f"Try again in {math.ceil(retry_after)} seconds."
        super().__init__(f"{who} may synthesize {limit} characters a minute ({setting}). {advice}")
        self.retry_after = None if math.isinf(retry_after) else _to_whole_seconds(retry_after)


class Busy(SvcError):
    http_status = 429
    status = "system_busy"

    def __init__(self, limit: int | None = None, retry_after: float = 1) -> None:
        """`limit` is that of SVC_MAX_STREAMS if it is reached; otherwise the engine has no time for more."""
        reason = (
            "The engine cannot synthesize more texts in real time (SVC_MAX_LOAD)."
            if limit is None
            else f"The server is already synthesizing {limit} texts (SVC_MAX_STREAMS)."
        )
        super().__init__(f"{reason} Try again in a moment.")
        self.retry_after = _to_whole_seconds(retry_after)


class CloningBusy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("Too many voices are being cloned at once. Try again in a few seconds.")


class PreviewsBusy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("Too many voice previews are being made. Try again in a few seconds.")


class TooManySockets(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int, *, of_key: bool = False) -> None:
        super().__init__(
            f"This key already has {limit} open sockets, its limit (SVC_KEY_MAX_SOCKETS, or --max-sockets of "
            "`svc keys`). Close one first."
            if of_key
            else f"The server already has {limit} open sockets (SVC_MAX_SOCKETS). Try again in a moment."
        )


class InputBusy(SvcError):
    http_status = 429
    status = "system_busy"
    retry_after = 1

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The server is receiving {limit} bytes of large requests and messages already (SVC_MAX_INPUT_BYTES). "
            "Try again in a moment."
        )


class ClientDisconnected(SvcError):
    """The client hung up before it got its response. Only the log shows this error."""

    http_status = 499
    status = "client_disconnected"

    def __init__(self) -> None:
        super().__init__("The client has closed the connection.")


class InternalError(SvcError):
    def __init__(self) -> None:
        super().__init__("Internal error. The server log has the details.")


class NotSupported(SvcError):
    http_status = 501
    status = "not_supported"


class KeysUnavailable(SvcError):
    """The database of the keys table is unavailable. `reason` goes to the log and the command line, not to clients."""

    http_status = 503
    status = "keys_unavailable"
    retry_after = 2

    def __init__(self, reason: str) -> None:
        super().__init__("The server cannot check API keys at the moment. Try again in a few seconds.")
        self.reason = reason


class StorageUnavailable(SvcError):
    """A voice or dictionary could not be written to disk. `reason` goes to the log and the command line alone."""

    http_status = 503
    status = "storage_unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__("The server could not write to its disk, which is full or unavailable. Nothing was changed.")
        self.reason = reason


class ModelLoading(SvcError):
    http_status = 503
    status = "model_loading"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The engine is still loading. Try again in a few seconds.")


class ShuttingDown(SvcError):
    http_status = 503
    status = "shutting_down"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The server is shutting down. Reconnect in a few seconds.")


class EngineUnavailable(SvcError):
    """The engine could not be loaded. The message says why and what to do."""

    http_status = 503
    status = "engine_unavailable"


def _to_whole_seconds(seconds: float) -> int:
    """For the header Retry-After."""
    return max(1, math.ceil(seconds))
