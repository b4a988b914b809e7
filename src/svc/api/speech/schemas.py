"""Bodies of requests. Tolerant: unknown fields are ignored, null counts as absent, sliders are clamped.

Every string and list has a bound, which a test holds.
"""

import math
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from svc.dictionaries.catalogue import MAX_ID_LENGTH, MAX_LOCATORS, Locator
from svc.settings import MAX_TEXT_LENGTH
from svc.text.frontend import CONTEXT_CHARACTERS
from svc.text.language.languages import Language
from svc.voices.settings import VoiceSettings


def replace_lone_surrogates(text: str) -> str:
    """JSON can spell half a character, which cannot be encoded or printed."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def list_names(annotation: Any) -> frozenset[str]:
    """The names that the fields of a model, or of a union with one, have in JSON."""
    names = list[object]()
    for model in (annotation, *get_args(annotation)):
        fields = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
        for name, field in fields.items():
            alias = field.validation_alias
            names += alias.choices if isinstance(alias, AliasChoices) else [alias or name]
    return frozenset(each for each in names if isinstance(each, str))


def _clean_text(value: object) -> object:
    return replace_lone_surrogates(value) if isinstance(value, str) and not value.isascii() else value


def parse_number(value: object) -> float | None:
    """A finite number; anything else counts as not given."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _parse_flag(value: object) -> bool | None:
    """Anything but a flag counts as not given."""
    return value if isinstance(value, bool) else None


def _parse_seed(value: object) -> object:
    """A number; anything else counts as not given."""
    return value if isinstance(value, int) and not isinstance(value, bool) else parse_number(value)


def _keep_printable(value: object) -> str | None:
    """Text that can be echoed in a header; anything else counts as not given."""
    return value[:_LONGEST_NAME] if isinstance(value, str) and value.isascii() and value.isprintable() else None


def _keep_start(value: object) -> str | None:
    return replace_lone_surrogates(value[:CONTEXT_CHARACTERS]) if isinstance(value, str) else None


def _keep_end(value: object) -> str | None:
    return replace_lone_surrogates(value[-CONTEXT_CHARACTERS:]) if isinstance(value, str) else None


def _keep_short(value: object) -> str | None:
    return replace_lone_surrogates(value[:_LONGEST_NAME]) if isinstance(value, str) else None


_LONGEST_NAME = 100
LONGEST_DESCRIPTION = 2_000
_LONGEST_VOICE_ID = 500  # a mix has the ids of eight voices

Text = Annotated[str, BeforeValidator(_clean_text), Field(max_length=MAX_TEXT_LENGTH)]
VoiceId = Annotated[str, BeforeValidator(_clean_text), Field(max_length=_LONGEST_VOICE_ID)]

Line = Annotated[str, BeforeValidator(_clean_text), Field(max_length=1_000)]
"""A name, or a string of a rule. What it may have is checked once its spaces are joined."""
Description = Annotated[str, BeforeValidator(_clean_text), Field(max_length=LONGEST_DESCRIPTION)]

# What a request can do without: the part that has an effect is kept, and what is of another type counts as not given.
Slider = Annotated[float | None, BeforeValidator(parse_number)]
Hint = Annotated[Annotated[str, Field(max_length=_LONGEST_NAME)] | None, BeforeValidator(_keep_short)]
TextBefore = Annotated[Annotated[str, Field(max_length=CONTEXT_CHARACTERS)] | None, BeforeValidator(_keep_end)]
TextAfter = Annotated[Annotated[str, Field(max_length=CONTEXT_CHARACTERS)] | None, BeforeValidator(_keep_start)]


def _clean_locators(value: object) -> list[dict[str, str | None]]:
    """Clients send objects, or ids alone. What is neither is left out: an unknown dictionary is no error either."""
    locators = (_clean_locator(each) for each in (value if isinstance(value, list) else ()))
    return list(islice(filter(None, locators), MAX_LOCATORS))


def _clean_locator(value: object) -> dict[str, str | None] | None:
    fields = value if isinstance(value, dict) else {"pronunciation_dictionary_id": value}
    dictionary_id, version_id = fields.get("pronunciation_dictionary_id"), fields.get("version_id")
    if not isinstance(dictionary_id, str):
        return None
    version_id = version_id[:MAX_ID_LENGTH] if isinstance(version_id, str) else None
    return {"pronunciation_dictionary_id": dictionary_id[:MAX_ID_LENGTH], "version_id": version_id}


Locators = Annotated[list[Locator], BeforeValidator(_clean_locators), Field(max_length=MAX_LOCATORS)]
"""Pronunciation dictionaries that a request wants to be applied, in order."""

ModelName = Annotated[Annotated[str, Field(max_length=_LONGEST_NAME)] | None, BeforeValidator(_keep_printable)]


class VoiceSettingsBody(BaseModel):
    """Settings of the delivery. Missing or null fields keep the voice's own value."""

    stability: Slider = Field(None, description="0 to 1. Lower is livelier, higher is more even. Default 0.5.")
    similarity_boost: Slider = Field(
        None, description="0 to 1. How much of its own timbre the voice keeps. Default 0.75."
    )
    style: Slider = Field(None, description="0 to 1. Exaggerates the intonation. Default 0.")
    use_speaker_boost: Annotated[bool | None, BeforeValidator(_parse_flag)] = Field(
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
    language_code: Hint = Field(None, description="The language to read in, such as `en` or `pt-BR`.")
    language: Hint = Field(None, description="The same as `language_code`.")
    seed: Annotated[int | float | None, BeforeValidator(_parse_seed)] = Field(
        None, description="The same seed gives the same audio; another seed varies the delivery."
    )
    previous_text: TextBefore = Field(
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
    next_text: TextAfter = Field(None, description="The text after this one; affects the intonation at the end.")
