"""What clients send over a socket. It is read tolerantly: unknown fields are ignored, null counts as absent."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from svc.api.errors import describe_problem
from svc.api.json_objects import InvalidJson, read_object
from svc.api.speech.dialogue_schemas import MAX_TURNS, MAX_VOICES, DialogueSettings
from svc.api.speech.schemas import Locators, Slider, Text, VoiceId, VoiceSettingsBody
from svc.errors import BinaryMessage, InvalidMessage, MessageTooLarge

# The server reads larger frames than this only to be able to say why it refuses them.
MAX_MESSAGE_CHARACTERS = 1_000_000

# Of a client that has not authenticated yet.
MAX_FIRST_MESSAGE_CHARACTERS = 64_000

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
    """What messages of all protocols may have."""

    context_id: Text | None = Field(None, max_length=_MAX_ID, validation_alias=AliasChoices("context_id", "contextId"))
    pronunciation_dictionary_locators: Locators = []
    flush: Flag = False
    close_context: Flag = False
    close_socket: Flag = False

    @property
    def characters(self) -> int:
        """Of text to speak."""
        return 0


class SpeechMessage(Message):
    """A message of a socket with one voice."""

    text: Text | None = None
    voice_settings: VoiceSettingsBody | None = None
    generation_config: GenerationConfig | None = Field(
        None, validation_alias=AliasChoices("generation_config", "generator_config")
    )

    @property
    def characters(self) -> int:
        return len(self.text or "")

    def schedule(self) -> tuple[int, ...]:
        """The client's `chunk_length_schedule`, within bounds, or the default."""
        given = (self.generation_config and self.generation_config.chunk_length_schedule) or []
        lengths = [int(min(max(length, _MIN_PIECE), _MAX_PIECE)) for length in given if length is not None]
        return tuple(lengths) or DEFAULT_SCHEDULE


class DialogueInput(BaseModel):
    """More text of a voice; it continues what that voice said last, unless a new turn begins."""

    text: Text
    voice_id: VoiceId
    new_turn: Flag = False


class DialogueMessage(Message):
    """A message of a socket with several voices. The first one of a context names them."""

    voices: list[VoiceId] | None = Field(None, max_length=MAX_VOICES)
    voice_settings: DialogueSettings | None = None
    inputs: list[DialogueInput] | None = Field(None, max_length=MAX_TURNS, fail_fast=True)
    keep_alive: Flag = False

    @property
    def characters(self) -> int:
        return sum(len(each.text) for each in self.inputs or ())


M = TypeVar("M", bound=Message)


async def decode(raw: str | bytes, names: Collection[str], limit: int) -> Mapping[str, Any]:
    """The fields of a message that have these names."""
    if isinstance(raw, bytes):
        raise BinaryMessage
    if len(raw) > limit:
        raise MessageTooLarge(limit)
    try:
        message = await read_object(raw, names)
    except InvalidJson as error:
        raise InvalidMessage("not JSON") from error
    if not isinstance(message, dict):
        raise InvalidMessage("not a JSON object")
    return message


def parse(kind: type[M], message: Mapping[str, Any]) -> M:
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        first = describe_problem(error.errors()[0])
        place = ".".join(map(str, first.loc))
        raise InvalidMessage(f"{place}: {first.msg}", place) from error
