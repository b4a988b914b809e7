"""Bodies of requests. Tolerant: unknown fields are ignored, null counts as absent, sliders are clamped."""

import math
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from svc.dictionaries.catalogue import Locator
from svc.text.language import Language
from svc.voices.settings import VoiceSettings


def replace_lone_surrogates(text: str) -> str:
    """JSON can spell half a character, which cannot be encoded or printed."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clean_text(value: object) -> object:
    return replace_lone_surrogates(value) if isinstance(value, str) else value


def parse_number(value: object) -> float | None:
    """A finite number; anything else counts as not given."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


Text = Annotated[str, BeforeValidator(_clean_text)]
Slider = Annotated[float | None, BeforeValidator(parse_number)]


def _keep_printable(value: object) -> str | None:
    """Text that can be echoed in a header; anything else counts as not given."""
    return value[:100] if isinstance(value, str) and value.isascii() and value.isprintable() else None


def _clean_locators(value: object) -> list[dict[str, str | None]]:
    """Clients send objects, or ids alone. What is neither is left out: an unknown dictionary is no error either."""
    locators = []
    for each in value if isinstance(value, list) else ():
        fields = each if isinstance(each, dict) else {"pronunciation_dictionary_id": each}
        dictionary_id, version_id = fields.get("pronunciation_dictionary_id"), fields.get("version_id")
        if isinstance(dictionary_id, str):
            version = version_id if isinstance(version_id, str) else None
            locators.append({"pronunciation_dictionary_id": dictionary_id, "version_id": version})
    return locators


Locators = Annotated[list[Locator], BeforeValidator(_clean_locators)]
"""Pronunciation dictionaries that a request wants to be applied, in order."""

ModelName = Annotated[str | None, BeforeValidator(_keep_printable)]


class VoiceSettingsBody(BaseModel):
    """Settings of the delivery. Missing or null fields keep the voice's own value."""

    stability: Slider = Field(None, description="0 to 1. Lower is livelier, higher is more even. Default 0.5.")
    similarity_boost: Slider = Field(
        None, description="0 to 1. How much of its own timbre the voice keeps. Default 0.75."
    )
    style: Slider = Field(None, description="0 to 1. Exaggerates the intonation. Default 0.")
    use_speaker_boost: bool | None = Field(
        None, description="When false, the voice keeps less of its own timbre. Default true."
    )
    speed: Slider = Field(None, description="The speaking rate, 0.5 to 2. Default 1.")

    def apply_to(self, base: VoiceSettings) -> VoiceSettings:
        """The fields given here, and those of `base` for the rest."""
        given = {name: value for name, value in self if value is not None}
        return replace(base, **given).clamp_sliders()


class SynthesisBody(BaseModel):
    """What all bodies with texts to speak share. Fields that are not listed are accepted and ignored."""

    model_id: ModelName = Field(None, description="Accepted and echoed in `x-svc-model`; it selects nothing.")
    language_code: Text | None = Field(None, description="The language to read in, such as `en` or `pt-BR`.")
    language: Text | None = Field(None, description="The same as `language_code`.")
    seed: int | float | None = Field(
        None, description="The same seed gives the same audio; another seed varies the delivery."
    )
    previous_text: Text | None = Field(
        None, description="The text before this one; affects the intonation at the start."
    )
    pronunciation_dictionary_locators: Locators = Field(
        [], description="At most three pronunciation dictionaries, applied in order. Unknown ones are ignored."
    )

    @property
    def named_language(self) -> str | None:
        return self.language_code or self.language

    def parse_language(self, base: Language) -> Language | None:
        """The language that the caller named, if it is one that the engine speaks."""
        return Language.parse(self.named_language, base) if self.named_language else None

    def parse_seed(self) -> int | None:
        if self.seed is None or (isinstance(self.seed, float) and not math.isfinite(self.seed)):
            return None
        return int(self.seed) % 2**32


def require_words(text: str) -> str:
    if not text.strip():
        raise ValueError("text must not be blank")
    return text


class SpeechBody(SynthesisBody):
    """A text to speak. Fields that are not listed here are accepted and ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Hello from your own machine."}]})

    text: Annotated[Text, AfterValidator(require_words)] = Field(
        description='The text to speak. May contain <break time="1s"/> and <phoneme> tags.'
    )
    voice_settings: VoiceSettingsBody | None = None
    next_text: Text | None = Field(None, description="The text after this one; affects the intonation at the end.")
