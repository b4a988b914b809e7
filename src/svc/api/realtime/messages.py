"""What clients send over a socket, and what they get.

Incoming messages are read tolerantly: unknown fields are ignored, null counts as absent.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from svc.api.schemas import Slider, Text, VoiceSettingsBody
from svc.errors import BinaryMessage, InvalidMessage, MessageTooLarge, SvcError
from svc.synthesis.alignment import Alignment
from svc.synthesis.request import AudioPart

# The server reads larger frames than this only to be able to say why it refuses them.
MAX_MESSAGE_CHARACTERS = 1_000_000

# After how many characters a long sentence is spoken although it goes on: early at first, then in longer pieces.
DEFAULT_SCHEDULE = (25, 100, 160, 250, 290)
_MIN_PIECE, _MAX_PIECE = 5, 500
_MAX_SCHEDULE = 100
_MAX_ID = 200


class GenerationConfig(BaseModel):
    chunk_length_schedule: list[Slider] | None = Field(None, max_length=_MAX_SCHEDULE)


def _default_to_false(value: object) -> object:
    return value if value is not None else False


Flag = Annotated[bool, BeforeValidator(_default_to_false)]


class Message(BaseModel):
    """A client's message in either protocol."""

    text: Text | None = None
    flush: Flag = False
    voice_settings: VoiceSettingsBody | None = None
    generation_config: GenerationConfig | None = Field(
        None, validation_alias=AliasChoices("generation_config", "generator_config")
    )
    context_id: Text | None = Field(None, max_length=_MAX_ID, validation_alias=AliasChoices("context_id", "contextId"))
    close_context: Flag = False
    close_socket: Flag = False

    def schedule(self) -> tuple[int, ...]:
        """The client's `chunk_length_schedule`, within bounds, or the default."""
        given = (self.generation_config and self.generation_config.chunk_length_schedule) or []
        lengths = [int(min(max(length, _MIN_PIECE), _MAX_PIECE)) for length in given if length is not None]
        return tuple(lengths) or DEFAULT_SCHEDULE


def decode(raw: str | bytes) -> Mapping[str, Any]:
    """The JSON object of a message."""
    if isinstance(raw, bytes):
        raise BinaryMessage
    if len(raw) > MAX_MESSAGE_CHARACTERS:
        raise MessageTooLarge(MAX_MESSAGE_CHARACTERS)
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage("not JSON") from error
    if not isinstance(message, dict):
        raise InvalidMessage("not a JSON object")
    return message


def parse(message: Mapping[str, Any]) -> Message:
    try:
        return Message.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidMessage(f"{place}: {first['msg']}") from error


# Some clients drop a socket that sends more than a mebibyte at once.
_MAX_AUDIO_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class ServerMessages:
    """Writes the messages of one text."""

    context_id: str | None = None
    sync_alignment: bool = False
    """Whether times count from the start of the text; otherwise from the start of each message."""

    def audio(self, part: AudioPart) -> Iterator[str]:
        for piece in part.split(_MAX_AUDIO_BYTES):
            start = None if self.sync_alignment else piece.start
            yield self._message(
                audio=base64.b64encode(piece.audio).decode(),
                isFinal=None,
                normalizedAlignment=_alignment_to_json(piece.normalized, start),
                alignment=_alignment_to_json(piece.alignment, start),
            )

    def final(self) -> str:
        """The last message. Its audio is null, because some clients look at that field first and at no other."""
        both = {} if self.context_id is None else {"is_final": True}
        return self._message(audio=None, isFinal=True, normalizedAlignment=None, alignment=None, **both)

    def error(self, error: SvcError) -> str:
        param = {} if error.param is None else {"param": error.param}
        return self._message(audio=None, message=error.message, error=error.status, code=error.close_code, **param)

    def _message(self, **fields: Any) -> str:
        if self.context_id is not None:
            fields |= {"contextId": self.context_id, "context_id": self.context_id}
        return json.dumps(fields)


def _alignment_to_json(alignment: Alignment, start: float | None) -> dict[str, Any] | None:
    """With a `start`, times count from there, and the first character begins with the message."""
    if not alignment.characters:
        return None
    starts = [_to_milliseconds(time - (start or 0.0)) for time in alignment.starts]
    ends = [_to_milliseconds(time - (start or 0.0)) for time in alignment.ends]
    if start is not None:
        starts[0] = 0
    return {
        "chars": alignment.characters,
        "charStartTimesMs": starts,
        "charDurationsMs": [end - start for start, end in zip(starts, ends, strict=True)],
    }


def _to_milliseconds(seconds: float) -> int:
    """Rounded down, so that no character ends after the audio."""
    return max(0, int(seconds * 1000 + 1e-6))
