"""`POST /v1/text-to-speech/{voice_id}`: text in, audio out; whole or streamed, with or without timestamps."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from svc.admission.admission import Admission
from svc.api.authentication import get_principal
from svc.api.disconnect import run_unless_disconnected
from svc.api.middleware import require_json
from svc.api.models import MODEL_ID
from svc.api.schemas import SpeechBody
from svc.api.speech_responses import AudioClip, AudioStream, TimestampedClip, TimestampStream
from svc.audio import formats
from svc.audio.formats import OutputFormat
from svc.dictionaries.catalogue import Dictionaries, describe_applied
from svc.errors import TextTooLong
from svc.metrics import Metrics
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Clip, Parts, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore

_AUDIO: dict[int | str, dict[str, Any]] = {200: {"content": {"audio/*": {}}, "description": "The audio."}}


def router(
    pipeline: Pipeline,
    scheduler: Scheduler,
    admission: Admission,
    voices: VoiceCatalogue,
    voice_settings: VoiceSettingsStore,
    dictionaries: Dictionaries,
    metrics: Metrics,
    max_characters: int,
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["speech"], dependencies=[Depends(require_json)])

    def parse_request(voice_id: str, body: SpeechBody) -> SynthesisRequest:
        """Everything that can fail cheaply fails here."""
        scheduler.require_ready()
        if len(body.text) > max_characters:
            raise TextTooLong(len(body.text), max_characters)
        pipeline.require_allowed_length(body.text)
        voice = voices.resolve(voice_id)
        settings = voice_settings.get(voice.voice_id)
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

    async def synthesize(
        request: SynthesisRequest, parts: Parts, http: Request, *, live: bool
    ) -> AsyncGenerator[AudioPart]:
        """The parts as they are made, once the request is admitted."""
        seconds = request.estimate_seconds()
        with await admission.admit(get_principal(http), len(request.text), seconds, live=live) as place:
            async with aclosing(scheduler.run(parts, place.playback)) as made:
                async for part in made:
                    yield part

    async def render(request: SynthesisRequest, audio: OutputFormat, http: Request) -> Clip:
        """The whole clip; a client that hangs up ends the work."""
        clip = Clip()

        async def work() -> None:
            async with aclosing(synthesize(request, pipeline.render(request, audio, clip), http, live=False)) as parts:
                async for _ in parts:
                    pass

        await run_unless_disconnected(http, work())
        return clip

    async def start(request: SynthesisRequest, audio: OutputFormat, http: Request) -> AsyncGenerator[AudioPart]:
        """The parts, once the first is there: what fails at once fails with a status of its own."""
        started = time.monotonic()
        parts = synthesize(request, pipeline.stream(request, audio), http, live=True)
        first = await run_unless_disconnected(http, anext(parts))
        metrics.first_byte_seconds.observe(time.monotonic() - started)

        async def continue_from_first() -> AsyncGenerator[AudioPart]:
            async with aclosing(parts):
                yield first
                async for part in parts:
                    yield part

        return continue_from_first()

    @router.post("/{voice_id}", responses=_AUDIO, response_class=Response)
    async def create_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and returns the whole clip."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        return AudioClip(await render(request, audio, http), audio.content_type, _headers(request, body))

    @router.post("/{voice_id}/with-timestamps", response_class=JSONResponse)
    async def create_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and returns JSON: the whole clip in base64, and the times of every character."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        return TimestampedClip(await render(request, audio, http), _headers(request, body))

    @router.post("/{voice_id}/stream", responses=_AUDIO, response_class=StreamingResponse)
    async def stream_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and streams the audio."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        return AudioStream(await start(request, audio, http), audio.content_type, _headers(request, body))

    @router.post("/{voice_id}/stream/with-timestamps", response_class=StreamingResponse)
    async def stream_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and streams lines of JSON, each with audio in base64 and the times of its characters."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        return TimestampStream(await start(request, audio, http), "application/x-ndjson", _headers(request, body))

    return router


def _headers(request: SynthesisRequest, body: SpeechBody) -> dict[str, str]:
    applied = {"x-svc-dictionaries": describe_applied(request.rules)} if body.pronunciation_dictionary_locators else {}
    return {
        **applied,
        "x-svc-voice": request.voice.voice_id,
        "x-svc-model": body.model_id if body.model_id else MODEL_ID,
        "character-cost": str(len(request.text)),
    }
