"""`GET /v1/models`: the one engine, and the ids under which migrating clients know it."""

from collections.abc import Iterable

from fastapi import APIRouter
from pydantic import BaseModel

from svc.text.language.grades import Grade, find_grade, list_offered_languages

MODEL_ID = "svc-turbo"


class ModelLanguage(BaseModel):
    language_id: str
    name: str
    grade: Grade = Grade.GOOD
    """`good` or `fair`, by measurement; languages that are neither are not listed."""


class ModelRates(BaseModel):
    character_cost_multiplier: float = 0.0


class ModelShape(BaseModel):
    model_id: str
    name: str
    description: str = "Natural speech in many languages, on your own machine."
    can_do_text_to_speech: bool = True
    can_do_voice_conversion: bool = False
    can_be_finetuned: bool = False
    can_use_style: bool = True
    can_use_speaker_boost: bool = True
    serves_pro_voices: bool = False
    requires_alpha_access: bool = False
    token_cost_factor: float = 0.0
    max_characters_request_free_user: int
    max_characters_request_subscribed_user: int
    maximum_text_length_per_request: int
    languages: list[ModelLanguage]
    model_rates: ModelRates = ModelRates()
    concurrency_group: str = "standard"


def router(aliases: Iterable[str], max_characters: int) -> APIRouter:
    router = APIRouter(prefix="/v1/models", tags=["models"])
    # English is one language with two accents; clients list languages by their bare code.
    languages = {
        each.code: ModelLanguage(
            language_id=each.code, name=each.name.split("_")[0].capitalize(), grade=find_grade(each)
        )
        for each in list_offered_languages()
    }
    models = [
        ModelShape(
            model_id=model_id,
            name=MODEL_ID,
            max_characters_request_free_user=max_characters,
            max_characters_request_subscribed_user=max_characters,
            maximum_text_length_per_request=max_characters,
            languages=list(languages.values()),
        )
        for model_id in (MODEL_ID, *aliases)
    ]

    @router.get("")
    async def list_models() -> list[ModelShape]:
        """The one model, and the aliases of SVC_MODEL_ALIASES."""
        return models

    return router
