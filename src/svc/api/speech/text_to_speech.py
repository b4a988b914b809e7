"""`POST /v1/text-to-speech/{voice_id}`: text in, audio out; whole or streamed, with or without timestamps."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from svc.api.account import new_history_item_id
from svc.api.authentication import get_principal
from svc.api.middleware.bodies import JsonRoute
from svc.api.middleware.requests import LONGEST_ADDRESS
from svc.api.models import MODEL_ID
from svc.api.speech.http_synthesis import HttpSynthesis
from svc.api.speech.language_header import describe_language
from svc.api.speech.responses import AudioClip, AudioStream, TimestampedClip, TimestampStream
from svc.api.speech.schemas import SpeechBody
from svc.audio import formats
from svc.dictionaries.catalogue import Dictionaries, describe_applied
from svc.synthesis.request import Reading, SynthesisRequest
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore

AUDIO: dict[int | str, dict[str, Any]] = {200: {"content": {"audio/*": {}}, "description": "The audio."}}

FormatName = Annotated[str, Query(max_length=LONGEST_ADDRESS)]  # an unknown one gets an answer of its own


def router(
    synthesis: HttpSynthesis, voices: VoiceCatalogue, voice_settings: VoiceSettingsStore, dictionaries: Dictionaries
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["speech"], route_class=JsonRoute)

    def parse_request(voice_id: str, body: SpeechBody, http: Request) -> SynthesisRequest:
        """Everything that can fail cheaply fails here."""
        synthesis.require_allowed(body.text)
        caller = get_principal(http)
        voice = voices.resolve(voice_id, caller)
        settings = voice_settings.get(voice, caller)
        return SynthesisRequest(
            text=body.text,
            voice=voice,
            settings=body.voice_settings.apply_to(settings) if body.voice_settings else settings,
            language=body.parse_language(voice.language),
            seed=body.parse_seed(),
            previous_text=body.previous_text or "",
            next_text=body.next_text or "",
            rules=dictionaries.resolve_locators(body.pronunciation_dictionary_locators),
        )

    @router.post("/{voice_id}", responses=AUDIO, response_class=Response)
    async def create_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and returns the whole clip."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body, http)
        clip = await synthesis.render(request, audio, http)
        return AudioClip(clip, audio.content_type, _headers(request, body, clip.reading))

    @router.post("/{voice_id}/with-timestamps", response_class=JSONResponse)
    async def create_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and returns JSON: the whole clip in base64, and the times of every character."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body, http)
        clip = await synthesis.render(request, audio, http, timestamps=True)
        return TimestampedClip(clip, _headers(request, body, clip.reading))

    @router.post("/{voice_id}/stream", responses=AUDIO, response_class=StreamingResponse)
    async def stream_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and streams the audio."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body, http)
        reading, parts = await synthesis.start(request, audio, http)
        return AudioStream(parts, audio.content_type, _headers(request, body, reading))

    @router.post("/{voice_id}/stream/with-timestamps", response_class=StreamingResponse)
    async def stream_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and streams lines of JSON, each with audio in base64 and the times of its characters."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body, http)
        reading, parts = await synthesis.start(request, audio, http, timestamps=True)
        return TimestampStream(parts, "application/x-ndjson", _headers(request, body, reading))

    return router


def _headers(request: SynthesisRequest, body: SpeechBody, reading: Reading) -> dict[str, str]:
    applied = {"x-svc-dictionaries": describe_applied(request.rules)} if body.pronunciation_dictionary_locators else {}
    return make_headers(request, body.model_id, reading, body.named_language) | applied


def make_headers(
    request: SynthesisRequest, model_id: str | None, reading: Reading, language_code: str | None = None
) -> dict[str, str]:
    """What every response with speech tells about it."""
    return {
        "x-svc-voice": request.voice.voice_id,
        "x-svc-model": model_id or MODEL_ID,
        "character-cost": str(len(request.text)),
        "history-item-id": new_history_item_id(),
        **describe_language(language_code, request.language, reading),
    }
