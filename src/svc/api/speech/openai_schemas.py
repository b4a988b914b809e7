"""Bodies of the OpenAI speech API. Unknown fields are ignored, and null counts as absent."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetPydanticSchema, field_validator, model_validator
from pydantic_core import core_schema

from svc.api.speech.schemas import ModelName, Text, VoiceId
from svc.audio.formats import TELEPHONY, Codec
from svc.voices.settings import FASTEST_SPEECH, SLOWEST_SPEECH

FORMATS = {codec.value: codec.default for codec in Codec if codec.family != TELEPHONY}
"""The output format that each `response_format` stands for."""


def _read_id(value: object) -> object:
    """A voice is given by its name, or as an object with its id."""
    return value.get("id") if isinstance(value, dict) else value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


# Like `Literal` of these names, which can be given only one by one.
_ResponseFormat = Annotated[
    str, GetPydanticSchema(lambda *_: core_schema.literal_schema([*FORMATS])), BeforeValidator(_lower)
]


class CreateSpeechBody(BaseModel):
    """A text to speak."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "tts-1", "input": "Hello from your own machine.", "voice": "alloy"}]}
    )

    input: Text = Field(description="The text to speak, up to SVC_MAX_CHARACTERS.")
    model: ModelName = Field(None, description="Accepted and echoed in `x-svc-model`; it selects nothing.")
    voice: Annotated[VoiceId | None, BeforeValidator(_read_id)] = Field(
        None, description="A name or id, or an object with an `id`. By default the server's default voice."
    )
    response_format: _ResponseFormat = Codec.MP3.value
    speed: float | None = Field(None, ge=SLOWEST_SPEECH, le=FASTEST_SPEECH, allow_inf_nan=False)
    stream_format: Annotated[Literal["audio", "sse"], BeforeValidator(_lower)] = "audio"

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, body: Any) -> Any:
        return {name: value for name, value in body.items() if value is not None} if isinstance(body, dict) else body

    @field_validator("input")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be blank")
        return text


class OpenAiVoice(BaseModel):
    id: str
    name: str


class OpenAiVoices(BaseModel):
    voices: list[OpenAiVoice]


class AudioModel(BaseModel):
    id: str


class AudioModels(BaseModel):
    models: list[AudioModel]


class OpenAiProblem(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiError(BaseModel):
    """The body of every error under these paths."""

    error: OpenAiProblem


class OpenAiModel(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = 1_767_225_600  # 2026-01-01
    owned_by: str = "svc"


class OpenAiModels(BaseModel):
    object: Literal["list"] = "list"
    data: list[OpenAiModel]
