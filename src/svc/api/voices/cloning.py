"""`POST /voices`, `DELETE /voices/{voice_id}`, and the same under the paths of the commercial API."""

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel

from svc.api.authentication import get_principal
from svc.api.errors import ProblemsShape
from svc.api.speech.schemas import LONGEST_DESCRIPTION
from svc.api.voices.schemas import Done, VoiceSettingsShape, VoiceShape, describe_voice
from svc.api.voices.uploads import (
    LONGEST_LABEL,
    MAX_NAME_LENGTH,
    MOST_FILES,
    MOST_LABELS,
    Upload,
    invalid_field,
    read_upload,
)
from svc.cloning.cloner import Changes, Details, VoiceCloner
from svc.cloning.refinement_queue import RefinementQueue
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice
from svc.voices.settings import VoiceSettingsStore

_FIELDS = {
    "name": {
        "type": "string",
        "maxLength": MAX_NAME_LENGTH,
        "description": "The name of the voice; required of a new one.",
    },
    "display_name": {"type": "string", "maxLength": MAX_NAME_LENGTH, "description": "The same as `name`."},
    "description": {"type": "string", "maxLength": LONGEST_DESCRIPTION},
    "labels": {
        "type": "object",
        "maxProperties": MOST_LABELS,
        "additionalProperties": {"type": "string", "maxLength": LONGEST_LABEL},
    },
    "language": {
        "type": "string",
        "maxLength": 100,
        "description": "The language that the person speaks, such as `en` or `pt-BR`.",
    },
    "consent": {"type": "boolean", "description": "Whether the person has consented to the cloning."},
    "refine": {"type": "boolean", "description": "Whether the voice is refined in the background."},
}


def _describe_body(files: str, required: list[str]) -> dict[str, Any]:
    """For the OpenAPI document: a form with recordings, or the same as JSON with Base64."""

    def schema(encoding: dict[str, str]) -> dict[str, Any]:
        recordings = {"type": "array", "maxItems": MOST_FILES, "items": {"type": "string", **encoding}}
        return {"schema": {"type": "object", "required": required, "properties": {files: recordings, **_FIELDS}}}

    content = {
        "multipart/form-data": schema({"format": "binary"}),
        "application/json": schema({"contentEncoding": "base64"}),
    }
    return {"requestBody": {"required": True, "content": content}}


class AddedVoice(BaseModel):
    voice_id: str
    requires_verification: bool = False


def router(
    cloner: VoiceCloner, voices: VoiceCatalogue, voice_settings: VoiceSettingsStore, refinement_queue: RefinementQueue
) -> APIRouter:
    router = APIRouter(tags=["cloning"], responses={422: {"model": ProblemsShape}})

    async def clone(request: Request) -> CustomVoice:
        await asyncio.to_thread(cloner.require_place, get_principal(request))

        def check(upload: Upload) -> None:
            upload.check()
            if (consent := upload.flag("consent")) is not None:  # it may still follow
                cloner.require_consent(consent)

        upload = await read_upload(request, check)
        details = _parse_details(upload)
        return await cloner.clone(_require_clips(upload), details, get_principal(request))

    @router.post("/voices", openapi_extra=_describe_body("files", ["files"]))
    async def clone_voice(request: Request) -> VoiceShape:
        """Clones a voice from recordings of a person; 10 to 20 seconds of clean speech work best."""
        voice, caller = voices.build_custom(await clone(request)), get_principal(request)
        settings = VoiceSettingsShape(**asdict(voice_settings.get(voice, caller)))
        return describe_voice(voice, caller, str(request.base_url), settings, refinement_queue)

    @router.post("/v1/voices/add", openapi_extra=_describe_body("files", ["files"]))
    async def add_voice(request: Request) -> AddedVoice:
        """Clones a voice like `POST /voices`, with the response of the commercial API."""
        return AddedVoice(voice_id=(await clone(request)).voice_id)

    @router.post("/v1/voices/{voice_id}/edit", openapi_extra=_describe_body("files", []))
    async def edit_voice(voice_id: str, request: Request) -> Done:
        """Changes the name, description or labels of a cloned voice.

        With further recordings, the voice is cloned again from all of its recordings. `refine=true` refines it in the
        background; `refine=false` leaves it as it is.
        """
        cloner.find_own(voice_id, get_principal(request))
        upload = await read_upload(request, Upload.check)
        changes = Changes(upload.name(), upload.description(), upload.labels())
        await cloner.edit(
            voice_id,
            upload.clips,
            changes,
            get_principal(request),
            consent=bool(upload.flag("consent")),
            refine=upload.flag("refine"),
        )
        return Done()

    @router.delete("/voices/{voice_id}")
    @router.delete("/v1/voices/{voice_id}")
    async def remove_voice(voice_id: str, request: Request) -> Done:
        """Removes a cloned voice permanently. Requests that are using it are not interrupted."""
        removed = await cloner.remove(voice_id, get_principal(request))
        await asyncio.to_thread(voice_settings.forget, removed)
        return Done()

    return router


def _require_clips(upload: Upload) -> list[bytes]:
    if not upload.clips:
        raise invalid_field("files", "at least one recording is required")
    return upload.clips


def _parse_details(upload: Upload) -> Details:
    name = upload.name()
    if name is None:
        raise invalid_field("name", "a name is required")
    return Details(
        name=name,
        description=upload.description() or "",
        labels=upload.labels() or {},
        language=upload.language() or Language.ENGLISH_US,
        consent=bool(upload.flag("consent")),
        refine=upload.flag("refine"),
    )
