"""What clients send over a socket. Tolerant: what is unknown is ignored, null is absent."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from svc.api.schemas import Slider, Text, VoiceSettingsBody
from svc.errors import BinaryMessage, InvalidMessage, MessageTooLarge

# Far more than anybody can say at once; the server takes larger frames only to be able to tell why it refuses them.
LONGEST_MESSAGE = 1_000_000

# How many characters make a piece of a long sentence: soon the first words, then ever longer stretches.
SCHEDULE = (25, 100, 160, 250, 290)
_SHORTEST_PIECE, _LONGEST_PIECE = 5, 500
_LONGEST_SCHEDULE = 100
_LONGEST_ID = 200


class GenerationConfig(BaseModel):
    chunk_length_schedule: list[Slider] | None = Field(None, max_length=_LONGEST_SCHEDULE)


def _absent_is_false(value: object) -> object:
    return value if value is not None else False


Flag = Annotated[bool, BeforeValidator(_absent_is_false)]


class Message(BaseModel):
    """One message of either protocol."""

    text: Text | None = None
    flush: Flag = False
    voice_settings: VoiceSettingsBody | None = None
    generation_config: GenerationConfig | None = Field(
        None, validation_alias=AliasChoices("generation_config", "generator_config")
    )
    context_id: Text | None = Field(
        None, max_length=_LONGEST_ID, validation_alias=AliasChoices("context_id", "contextId")
    )
    close_context: Flag = False
    close_socket: Flag = False

    def schedule(self) -> tuple[int, ...]:
        """After how many characters each piece of a long sentence may be spoken."""
        given = (self.generation_config and self.generation_config.chunk_length_schedule) or []
        lengths = [int(min(max(length, _SHORTEST_PIECE), _LONGEST_PIECE)) for length in given if length is not None]
        return tuple(lengths) or SCHEDULE


def decode(raw: str | bytes) -> Mapping[str, Any]:
    """The JSON object of a message."""
    if isinstance(raw, bytes):
        raise BinaryMessage
    if len(raw) > LONGEST_MESSAGE:
        raise MessageTooLarge(LONGEST_MESSAGE)
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage("it is not JSON") from error
    if not isinstance(message, dict):
        raise InvalidMessage("it is not a JSON object")
    return message


def parse(message: Mapping[str, Any]) -> Message:
    try:
        return Message.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidMessage(f"{place}: {first['msg']}") from error
