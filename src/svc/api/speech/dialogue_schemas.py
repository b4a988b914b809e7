"""The body of a request for a dialogue, and what it shares with the first message of a socket."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from svc.api.speech.schemas import Slider, SynthesisBody, Text, TextAfter, VoiceId, require_words
from svc.voices.settings import VoiceSettings

MAX_VOICES = 10
MAX_TURNS = 2_000


class DialogueSettings(BaseModel):
    """Settings of the delivery, for all voices of a dialogue. Missing or null fields keep each voice's own value."""

    stability: Slider = Field(None, description="0 to 1. Lower is livelier, higher is more even. Default 0.5.")
    similarity: Slider = Field(None, description="0 to 1. How much of its own timbre a voice keeps. Default 0.75.")

    def apply_to(self, base: VoiceSettings) -> VoiceSettings:
        return VoiceSettings(
            stability=base.stability if self.stability is None else self.stability,
            similarity_boost=base.similarity_boost if self.similarity is None else self.similarity,
            style=base.style,
            use_speaker_boost=base.use_speaker_boost,
            speed=base.speed,
        )


class DialogueTurn(BaseModel):
    """A text, and who speaks it."""

    text: Annotated[Text, AfterValidator(require_words)] = Field(description="The text to speak.")
    voice_id: VoiceId = Field(description="The voice that speaks it.")


def _require_few_voices(inputs: list[DialogueTurn]) -> list[DialogueTurn]:
    count = len({each.voice_id for each in inputs})
    if count > MAX_VOICES:
        raise ValueError(f"a dialogue may have {MAX_VOICES} different voices, not {count}")
    return inputs


class DialogueBody(SynthesisBody):
    """Texts that are spoken one after the other, each by its voice. Fields that are not listed here are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "inputs": [
                        {"text": "Knock, knock!", "voice_id": "am_michael"},
                        {"text": "Who is there?", "voice_id": "af_heart"},
                    ]
                }
            ]
        }
    )

    inputs: Annotated[list[DialogueTurn], AfterValidator(_require_few_voices)] = Field(
        min_length=1,
        max_length=MAX_TURNS,
        fail_fast=True,
        description=f"The turns in their order, by at most {MAX_VOICES} different voices.",
    )
    settings: DialogueSettings | None = None
    future_text: TextAfter = Field(None, description="The text after the last turn; affects its intonation.")
