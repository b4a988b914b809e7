"""`GET /v1/voices`, `GET /v2/voices` and what hangs below them: who can speak, and with which settings."""

import asyncio
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from svc.api import previews
from svc.api.body_limits import json_only
from svc.api.models import MODEL_ID
from svc.api.paging import Page, page
from svc.api.schemas import VoiceSettingsBody
from svc.cloning.reference import Measured
from svc.cloning.refinement_queue import RefinementQueue
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.custom_voice import CustomVoice
from svc.voices.settings import VoiceSettings
from svc.voices.settings_store import VoiceSettingsStore


class VoiceSettingsShape(BaseModel):
    """The sliders of a voice."""

    stability: float
    similarity_boost: float
    style: float
    use_speaker_boost: bool
    speed: float


class VerifiedLanguage(BaseModel):
    language: str
    model_id: str
    accent: str
    locale: str
    preview_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloningShape(Measured):
    """How a cloned voice was made: what was measured at the time, and what has become of it since."""

    similarity: float
    nearest_built_in_voice: str
    nearest_built_in_similarity: float
    warnings: list[str]
    consent: bool
    has_reference: bool
    revision: int
    refined: bool
    refinement_progress: float | None
    """From 0 to 1 while the voice is being refined."""

    @classmethod
    def of(cls, voice: CustomVoice, refinement_progress: float | None) -> "CloningShape":
        report = voice.report
        return cls(
            **asdict(report.measured),
            similarity=report.similarity,
            nearest_built_in_voice=report.nearest,
            nearest_built_in_similarity=report.nearest_similarity,
            warnings=list(report.warnings),
            consent=voice.consent,
            has_reference=voice.reference is not None,
            revision=voice.revision,
            refined=report.refined,
            refinement_progress=refinement_progress,
        )


class VoiceShape(BaseModel):
    """A voice as clients of the imitated API know it."""

    voice_id: str
    name: str
    category: str
    description: str
    labels: dict[str, str]
    preview_url: str
    settings: VoiceSettingsShape | None = None
    samples: list[Any] = []
    available_for_tiers: list[str] = []
    high_quality_base_model_ids: list[str] = [MODEL_ID]
    verified_languages: list[VerifiedLanguage]
    fine_tuning: None = None
    sharing: None = None
    voice_verification: None = None
    permission_on_resource: None = None
    is_owner: bool = False
    is_legacy: bool = False
    is_mixed: bool = False
    created_at_unix: int | None = None
    cloning: CloningShape | None = None


class VoiceList(BaseModel):
    voices: list[VoiceShape]


class VoicePage(VoiceList):
    has_more: bool
    total_count: int
    next_page_token: str | None


class Done(BaseModel):
    status: Literal["ok"] = "ok"


# What each `voice_type` stands for here. Whatever else may be asked for, such as `saved`, is every voice.
_CATEGORIES = {
    "default": "premade",
    "non-default": "cloned",
    "personal": "cloned",
    "workspace": "cloned",
    "non-community": "cloned",
    "community": "professional",
}


class VoiceQuery(BaseModel):
    """What to look for among the voices; parameters that are not listed are ignored."""

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

    def sorted(self, voices: list[VoiceShape]) -> list[VoiceShape]:
        descending = self.sort_direction == "desc"
        if self.sort == "name":
            return sorted(voices, key=lambda voice: voice.name.lower(), reverse=descending)
        if self.sort == "created_at_unix":
            return sorted(voices, key=lambda voice: voice.created_at_unix or 0, reverse=descending)
        return voices


def router(voices: VoiceCatalogue, settings: VoiceSettingsStore, refinement_queue: RefinementQueue) -> APIRouter:
    router = APIRouter(tags=["voices"])

    def shape(voice: Voice, request: Request, with_settings: bool = True) -> VoiceShape:
        own = VoiceSettingsShape(**asdict(settings.get(voice.voice_id)))
        return shaped(voice, str(request.base_url), own if with_settings else None, refinement_queue)

    @router.get("/v1/voices")
    async def list_voices(request: Request) -> VoiceList:
        """Every voice."""
        return VoiceList(voices=[shape(voice, request) for voice in voices])

    @router.get("/v2/voices")
    async def search_voices(request: Request, query: Annotated[VoiceQuery, Query()]) -> VoicePage:
        """Voices, filtered, sorted and in pages."""
        found = [each for voice in voices if query.matches(each := shape(voice, request))]
        current: Page[VoiceShape] = page(query.sorted(found), query.page_size, query.next_page_token)
        return VoicePage(
            voices=current.items,
            has_more=current.next_token is not None,
            total_count=len(found),
            next_page_token=current.next_token,
        )

    @router.get("/v1/voices/settings/default")
    async def default_settings() -> VoiceSettingsShape:
        """The settings with which a voice sounds just as it is."""
        return VoiceSettingsShape(**asdict(VoiceSettings()))

    @router.get("/v1/voices/{voice_id}")
    async def get_voice(voice_id: str, request: Request, with_settings: bool = True) -> VoiceShape:
        """One voice; an unknown id is the default voice, as when speaking."""
        return shape(voices.resolve(voice_id), request, with_settings)

    @router.get("/v1/voices/{voice_id}/settings")
    async def voice_settings(voice_id: str) -> VoiceSettingsShape:
        """The settings of one voice, used where a request brings none."""
        return VoiceSettingsShape(**asdict(settings.get(voices.resolve(voice_id).voice_id)))

    @router.post("/v1/voices/{voice_id}/settings/edit", dependencies=[Depends(json_only)])
    async def edit_voice_settings(voice_id: str, body: VoiceSettingsBody) -> Done:
        """Changes the settings of one voice; what is missing stays as it is."""
        voice = voices.find(voice_id)
        changed = body.over(settings.get(voice.voice_id)).clamped()
        await asyncio.to_thread(settings.set, voice.voice_id, changed)
        return Done()

    return router


def shaped(
    voice: Voice, base_url: str, settings: VoiceSettingsShape | None, refinement_queue: RefinementQueue
) -> VoiceShape:
    language = voice.language.value.split("-")[0]
    preview_url = previews.address(voice, base_url)
    common = {
        "voice_id": voice.voice_id,
        "name": voice.name,
        "preview_url": preview_url,
        "settings": settings,
        "verified_languages": [
            VerifiedLanguage(
                language=language,
                model_id=MODEL_ID,
                accent=voice.accent,
                locale=voice.language.locale,
                preview_url=preview_url,
            )
        ],
    }
    if voice.custom:
        return VoiceShape(
            **common,
            category="cloned",
            description=voice.custom.description,
            labels={"language": language, **voice.custom.labels},
            is_owner=True,
            created_at_unix=voice.custom.created_at,
            cloning=CloningShape.of(voice.custom, refinement_queue.progress(voice.custom)),
        )
    return VoiceShape(
        **common,
        category="premade",
        description=f"A {voice.gender} voice, {voice.accent}.",
        labels={
            "accent": voice.accent,
            "gender": voice.gender,
            "language": language,
            "age": "middle_aged",
            "description": "natural",
            "use_case": "conversational",
        },
    )
