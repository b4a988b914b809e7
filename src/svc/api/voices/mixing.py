"""`POST /v1/voices/mix`: keeps a mix of voices as a custom voice."""

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, Field

from svc.api.authentication import get_principal
from svc.api.errors import ProblemsShape
from svc.api.middleware.bodies import JsonRoute
from svc.api.speech.schemas import Description, Line, VoiceId
from svc.api.voices.schemas import VoiceSettingsShape, VoiceShape, describe_voice
from svc.api.voices.uploads import MAX_NAME_LENGTH
from svc.cloning.mixer import VoiceMixer
from svc.cloning.refinement_queue import RefinementQueue
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.mixes import MAX_PARTS, MAX_WEIGHT
from svc.voices.settings import VoiceSettingsStore


def _check_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ValueError(f"must have 1 to {MAX_NAME_LENGTH} printable characters")
    return name


class PartBody(BaseModel):
    voice_id: VoiceId = Field(description="The id or name of a voice.")
    weight: float = Field(1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)


class MixBody(BaseModel):
    """Voices and their weights, which need not add up to anything."""

    name: Annotated[Line, AfterValidator(_check_name)]
    parts: list[PartBody] = Field(min_length=2, max_length=MAX_PARTS)
    description: Description | None = None


def router(
    mixer: VoiceMixer, voices: VoiceCatalogue, voice_settings: VoiceSettingsStore, refinement_queue: RefinementQueue
) -> APIRouter:
    router = APIRouter(tags=["cloning"], responses={422: {"model": ProblemsShape}}, route_class=JsonRoute)

    @router.post("/v1/voices/mix")
    async def mix_voices(body: MixBody, request: Request) -> VoiceShape:
        """Makes a custom voice: the weighted mean of several voices, all of which must exist."""
        caller = get_principal(request)
        weights = [(part.voice_id, part.weight) for part in body.parts]
        voice = await asyncio.to_thread(mixer.mix, weights, body.name, body.description or "", caller)
        built = voices.build_custom(voice)
        settings = VoiceSettingsShape(**asdict(voice_settings.get(built, caller)))
        return describe_voice(built, caller, str(request.base_url), settings, refinement_queue)

    return router
