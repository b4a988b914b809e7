"""A voice, in the shape of the commercial API."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import BaseModel

from svc.api.models import MODEL_ID
from svc.api.voices.previews import preview_url
from svc.auth.keys import Principal
from svc.cloning.refinement_queue import RefinementQueue
from svc.text.language.grades import Grade, find_grade, list_offered_languages
from svc.voices.catalogue import Voice
from svc.voices.custom_voice import CustomVoice, ReferenceMeasurements


class VoiceSettingsShape(BaseModel):
    """The settings of a voice."""

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
    preview_url: str | None
    grade: Grade = Grade.GOOD
    """How well the language is spoken, by measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloningShape(ReferenceMeasurements):
    """How a cloned voice was made: the measurements of its recording, and its state since then."""

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
    def describe(cls, voice: CustomVoice, refinement_progress: float | None) -> "CloningShape":
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
    """A voice, in the shape of the commercial API."""

    voice_id: str
    name: str
    category: str
    description: str
    labels: dict[str, str]
    preview_url: str | None
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


def _list_other_languages(voice: Voice) -> list[VerifiedLanguage]:
    """The languages that no built-in voice has as its own: all voices speak them alike, and were measured in them."""
    return [
        VerifiedLanguage(
            language=each.code,
            model_id=MODEL_ID,
            accent="",
            locale=each.locale,
            preview_url=None,
            grade=find_grade(each),
        )
        for each in list_offered_languages()
        if each.row and each is not voice.language
    ]


def describe_voice(
    voice: Voice,
    caller: Principal,
    base_url: str,
    settings: VoiceSettingsShape | None,
    refinement_queue: RefinementQueue,
) -> VoiceShape:
    language = voice.language.code
    url = preview_url(voice, base_url)
    common = {
        "voice_id": voice.voice_id,
        "name": voice.name,
        "preview_url": url,
        "settings": settings,
        "verified_languages": [
            VerifiedLanguage(
                language=language,
                model_id=MODEL_ID,
                accent=voice.accent,
                locale=voice.language.locale,
                preview_url=url,
                grade=find_grade(voice.language),
            ),
            *_list_other_languages(voice),
        ],
    }
    if voice.custom:
        return VoiceShape(
            **common,
            category="cloned",
            description=voice.custom.description,
            labels={"language": language, **voice.custom.labels},
            is_owner=voice.custom.may_be_changed_by(caller),
            created_at_unix=voice.custom.created_at,
            is_mixed=bool(voice.parts),
            cloning=None
            if voice.parts
            else CloningShape.describe(voice.custom, refinement_queue.progress(voice.custom)),
        )
    if voice.parts:
        labels = {"accent": voice.accent, "gender": voice.gender, "language": language}
        return VoiceShape(
            **common,
            category="generated",
            description=f"A mix: {voice.name}.",
            labels={name: value for name, value in labels.items() if value},
            is_mixed=True,
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
