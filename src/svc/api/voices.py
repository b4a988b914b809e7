"""`GET /v1/voices`, `GET /v2/voices` and the paths below them: the voices and their settings."""

import asyncio
import base64
import binascii
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from svc.api.middleware import require_json
from svc.api.schemas import VoiceSettingsBody
from svc.api.voice_schemas import Done, VoiceList, VoicePage, VoiceSettingsShape, VoiceShape, describe_voice
from svc.cloning.refinement import RefinementQueue
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.settings import VoiceSettings, VoiceSettingsStore

_MAX_PAGE_SIZE = 100

# The category that each `voice_type` stands for. Any other value, such as `saved`, means every voice.
_CATEGORIES = {
    "default": "premade",
    "non-default": "cloned",
    "personal": "cloned",
    "workspace": "cloned",
    "non-community": "cloned",
    "community": "professional",
}


class VoiceQuery(BaseModel):
    """Filters for the voice list; parameters that are not listed are ignored."""

    page_size: int = 10
    next_page_token: str | None = None
    search: str | None = None
    sort: str | None = None
    sort_direction: str | None = None
    voice_type: str | None = None
    category: str | None = None
    gender: str | None = None
    age: str | None = None
    accent: str | None = None
    language: list[str] = []
    use_cases: list[str] = []
    voice_ids: list[str] = []

    def matches(self, voice: VoiceShape) -> bool:
        words = f"{voice.name} {voice.description} {' '.join(voice.labels.values())}".lower().split()
        return (
            all(any(word.startswith(wanted) for word in words) for wanted in (self.search or "").lower().split())
            and _CATEGORIES.get(self.voice_type or "", voice.category) == voice.category
            and (not self.category or self.category == voice.category)
            and (not self.gender or self.gender == voice.labels.get("gender"))
            and (not self.age or self.age == voice.labels.get("age"))
            and (not self.accent or self.accent == voice.labels.get("accent"))
            and (not self.language or voice.labels.get("language") in self.language)
            and (not self.use_cases or voice.labels.get("use_case") in self.use_cases)
            and (not self.voice_ids or voice.voice_id in self.voice_ids)
        )

    def sort_voices(self, voices: list[VoiceShape]) -> list[VoiceShape]:
        descending = self.sort_direction == "desc"
        if self.sort == "name":
            return sorted(voices, key=lambda voice: voice.name.lower(), reverse=descending)
        if self.sort == "created_at_unix":
            return sorted(voices, key=lambda voice: voice.created_at_unix or 0, reverse=descending)
        return voices

    def cut_page(self, voices: list[VoiceShape]) -> VoicePage:
        """The page that the token names; the first page without a token, or with an invalid one."""
        start = _decode_token(self.next_page_token)
        end = start + min(max(self.page_size, 1), _MAX_PAGE_SIZE)
        more = end < len(voices)
        return VoicePage(
            voices=voices[start:end],
            has_more=more,
            total_count=len(voices),
            next_page_token=_encode_token(end) if more else None,
        )


def router(voices: VoiceCatalogue, settings: VoiceSettingsStore, refinement_queue: RefinementQueue) -> APIRouter:
    router = APIRouter(tags=["voices"])

    def describe(voice: Voice, request: Request, with_settings: bool = True) -> VoiceShape:
        own = VoiceSettingsShape(**asdict(settings.get(voice.voice_id)))
        return describe_voice(voice, str(request.base_url), own if with_settings else None, refinement_queue)

    @router.get("/v1/voices")
    async def list_voices(request: Request) -> VoiceList:
        """Every voice."""
        return VoiceList(voices=[describe(voice, request) for voice in voices])

    @router.get("/v2/voices")
    async def search_voices(request: Request, query: Annotated[VoiceQuery, Query()]) -> VoicePage:
        """Voices, with filters, sorting and paging."""
        found = [shape for voice in voices if query.matches(shape := describe(voice, request))]
        return query.cut_page(query.sort_voices(found))

    @router.get("/v1/voices/settings/default")
    async def default_settings() -> VoiceSettingsShape:
        """The default settings, which leave a voice unchanged."""
        return VoiceSettingsShape(**asdict(VoiceSettings()))

    @router.get("/v1/voices/{voice_id}")
    async def get_voice(voice_id: str, request: Request, with_settings: bool = True) -> VoiceShape:
        """One voice. For an unknown id it is the default voice, as for speech."""
        return describe(voices.resolve(voice_id), request, with_settings)

    @router.get("/v1/voices/{voice_id}/settings")
    async def voice_settings(voice_id: str) -> VoiceSettingsShape:
        """The settings of one voice, used for requests that send none."""
        return VoiceSettingsShape(**asdict(settings.get(voices.resolve(voice_id).voice_id)))

    @router.post("/v1/voices/{voice_id}/settings/edit", dependencies=[Depends(require_json)])
    async def edit_voice_settings(voice_id: str, body: VoiceSettingsBody) -> Done:
        """Changes the settings of one voice. Missing fields stay as they are."""
        voice = voices.find(voice_id)
        await asyncio.to_thread(settings.edit, voice.voice_id, lambda known: body.apply_to(known).clamp())
        return Done()

    return router


def _encode_token(position: int) -> str:
    return base64.urlsafe_b64encode(f"at {position}".encode()).decode()


def _decode_token(token: str | None) -> int:
    try:
        return max(0, int(base64.urlsafe_b64decode((token or "").encode()).removeprefix(b"at ")))
    except (ValueError, binascii.Error):
        return 0
