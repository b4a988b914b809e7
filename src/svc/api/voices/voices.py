"""`GET /v1/voices`, `GET /v2/voices` and the paths below them: the voices and their settings."""

import asyncio
import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from svc.api.authentication import get_principal
from svc.api.middleware.bodies import JsonRoute
from svc.api.speech.schemas import VoiceId, VoiceSettingsBody
from svc.api.voices.schemas import Done, VoiceList, VoicePage, VoiceSettingsShape, VoiceShape, describe_voice
from svc.auth.keys import Principal
from svc.cloning.refinement_queue import RefinementQueue
from svc.errors import InvalidPageToken, MixedVoice, PathNotFound, VoiceNotFound
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice, VoiceCatalogue, is_of_another_key
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


# Paths that other methods have, or that others are below. They are not ids of voices, so the default voice does not
# answer for them.
_NOT_VOICES = frozenset({"add", "mix", "settings"})


_Word = Annotated[str, Field(max_length=100)]
_Words = Annotated[list[_Word], Field(max_length=100)]


class VoiceQuery(BaseModel):
    """Filters for the voice list; parameters that are not listed are ignored."""

    page_size: int = 10
    next_page_token: _Word | None = None
    search: Annotated[str, Field(max_length=200)] | None = None
    sort: _Word | None = None
    sort_direction: _Word | None = None
    voice_type: _Word | None = None
    category: _Word | None = None
    fine_tuning_state: _Word | None = None
    collection_id: _Word | None = None
    gender: _Word | None = None
    age: _Word | None = None
    accent: _Word | None = None
    language: _Words = []
    use_cases: _Words = []
    voice_ids: Annotated[list[VoiceId], Field(max_length=100)] = []

    def matches(self, voice: VoiceShape) -> bool:
        """No voice here is fine-tuned or in a collection, so a search for one finds nothing."""
        words = f"{voice.name} {voice.description} {' '.join(voice.labels.values())}".lower().split()
        wanted = set((self.search or "").lower().split())
        voice_type, labels = (self.voice_type or "").strip().lower(), voice.labels
        return (
            not self.fine_tuning_state
            and not self.collection_id
            and all(any(word.startswith(each) for word in words) for each in wanted)
            and _CATEGORIES.get(voice_type, voice.category) == voice.category
            and _is_wanted([self.category], voice.category)
            and _is_wanted([self.gender], labels.get("gender"))
            and _is_wanted([self.age], labels.get("age"))
            and _is_wanted([self.accent], labels.get("accent"))
            and _is_in_language(self.language, voice)
            and _is_wanted(self.use_cases, labels.get("use_case"))
        )

    def sort_voices(self, voices: list[VoiceShape]) -> list[VoiceShape]:
        descending = (self.sort_direction or "").strip().lower() == "desc"
        sort = (self.sort or "").strip().lower()
        if sort == "name":
            return sorted(voices, key=lambda voice: voice.name.lower(), reverse=descending)
        if sort == "created_at_unix":
            return sorted(voices, key=lambda voice: voice.created_at_unix or 0, reverse=descending)
        return voices

    def cut_page(self, voices: list[VoiceShape]) -> VoicePage:
        """The page that the token names; the first page without a token."""
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
    router = APIRouter(tags=["voices"], route_class=JsonRoute)

    def describe(voice: Voice, request: Request, with_settings: bool = True) -> VoiceShape:
        caller = get_principal(request)
        own = VoiceSettingsShape(**asdict(settings.get(voice, caller)))
        return describe_voice(voice, caller, str(request.base_url), own if with_settings else None, refinement_queue)

    def describe_legacy(name: str, voice_id: str, request: Request) -> VoiceShape:
        shape = describe(voices.find(voice_id), request)
        return shape.model_copy(update={"voice_id": voice_id, "name": name, "is_legacy": True})

    def list_legacy(known: list[Voice], request: Request) -> list[VoiceShape]:
        """Further names of voices, for clients that take for a name whatever is not 20 letters and digits."""
        custom_ids = {voice.voice_id: voice.voice_id for voice in known if voice.custom}
        return [
            describe_legacy(name, voice_id, request) for name, voice_id in (voices.legacy_names | custom_ids).items()
        ]

    def resolve(voice_id: str, caller: Principal) -> Voice:
        if voice_id in _NOT_VOICES:
            raise PathNotFound
        return voices.resolve(voice_id, caller)

    def resolve_all(voice_ids: list[str], caller: Principal) -> list[Voice]:
        """The voices that `GET /v1/voices/{voice_id}` finds for these ids."""
        found = {}
        for voice_id in voice_ids:
            with suppress(VoiceNotFound, PathNotFound):
                voice = resolve(voice_id, caller)
                found[voice.voice_id] = voice
        return list(found.values())

    # A thousand voices take half a second: these two run, and are rendered, in threads.

    @router.get("/v1/voices", response_model=VoiceList)
    def list_voices(request: Request, show_legacy: bool = False) -> Response:
        """Every voice that the key may use; `show_legacy` adds the names that older clients ask for."""
        caller = get_principal(request)
        known = voices.list_for(caller)
        shapes = [describe(voice, request) for voice in known]
        if show_legacy:  # before the voices of other keys, for a client takes the first of a name
            first_of_others = sum(not is_of_another_key(voice, caller) for voice in known)
            shapes[first_of_others:first_of_others] = list_legacy(known, request)
        return _render(VoiceList(voices=shapes))

    @router.get("/v2/voices", response_model=VoicePage)
    def search_voices(request: Request, query: Annotated[VoiceQuery, Query()]) -> Response:
        """Voices that the key may use, with filters, sorting and paging."""
        caller = get_principal(request)
        known = resolve_all(query.voice_ids, caller) if query.voice_ids else voices.list_for(caller)
        found = [shape for voice in known if query.matches(shape := describe(voice, request))]
        return _render(query.cut_page(query.sort_voices(found)))

    @router.get("/v1/voices/settings/default")
    async def default_settings() -> VoiceSettingsShape:
        """The default settings, which leave a voice unchanged."""
        return VoiceSettingsShape(**asdict(VoiceSettings()))

    @router.get("/v1/voices/{voice_id}")
    async def get_voice(voice_id: str, request: Request, with_settings: bool = True) -> VoiceShape:
        """One voice. For an unknown id it is the default voice, as for speech."""
        return describe(resolve(voice_id, get_principal(request)), request, with_settings)

    @router.get("/v1/voices/{voice_id}/settings")
    async def voice_settings(voice_id: str, request: Request) -> VoiceSettingsShape:
        """The settings of one voice, used for requests that send none."""
        caller = get_principal(request)
        return VoiceSettingsShape(**asdict(settings.get(resolve(voice_id, caller), caller)))

    @router.post("/v1/voices/{voice_id}/settings/edit")
    async def edit_voice_settings(voice_id: str, body: VoiceSettingsBody, request: Request) -> Done:
        """Changes the settings of one voice for this key. Missing fields stay as they are.

        What the owner of a custom voice changes holds for every key that has not changed it for itself.
        """
        caller = get_principal(request)
        voice = voices.find(voice_id, caller)
        if voice.parts and not voice.custom:
            raise MixedVoice(voice_id)
        await asyncio.to_thread(settings.edit, voice, caller, body.apply_to)
        return Done()

    return router


def _is_wanted(wanted: Sequence[str | None], name: str | None) -> bool:
    """Whether it is one of the names that were asked for; nothing, or an empty text, asks for all."""
    given = {each.strip().lower() for each in wanted if each and each.strip()}
    return not given or (name or "").lower() in given


def _is_in_language(wanted: Sequence[str], voice: VoiceShape) -> bool:
    """A code or name without a region, such as `en`, asks for the voices of all regions."""
    own = Language.parse(voice.verified_languages[0].locale)
    for each in wanted:
        language, has_region = Language.parse(each), "-" in each or "_" in each
        if language and own and (language.base is own.base if has_region else language.code == own.code):
            return True
    return _is_wanted(wanted, voice.labels.get("language"))


def _render(voices: VoiceList) -> Response:
    """Joined from one voice at a time: serializing a thousand in one call would hold up the event loop."""
    parts = [voice.model_dump_json() for voice in voices.voices]
    rest = voices.model_dump_json(exclude={"voices"}).removeprefix("{").removesuffix("}")
    content = f'{{"voices":[{",".join(parts)}]{"," if rest else ""}{rest}}}'
    return Response(content, media_type="application/json")


def _encode_token(position: int) -> str:
    return base64.urlsafe_b64encode(f"at {position}".encode()).decode()


def _decode_token(token: str | None) -> int:
    """The position that a token of `_encode_token` stands for; raises on any other text."""
    if not token:
        return 0
    with suppress(ValueError):  # also what base64 raises
        text = base64.urlsafe_b64decode(token.encode()).decode()
        position = int(text.removeprefix("at "))
        if _encode_token(position) == token and position > 0:
            return position
    raise InvalidPageToken
