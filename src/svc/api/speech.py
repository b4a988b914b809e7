"""`POST /v1/text-to-speech/{voice_id}`: text in, audio out; whole or streamed, with or without timestamps."""

import base64
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from svc.api.middleware import require_json
from svc.api.models import MODEL_ID
from svc.api.schemas import SpeechBody
from svc.audio import formats
from svc.errors import TextTooLong
from svc.synthesis.alignment import Alignment
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Parts, SynthesisRequest
from svc.synthesis.scheduler import Scheduler, audio_clock
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore

_AUDIO: dict[int | str, dict[str, Any]] = {200: {"content": {"audio/*": {}}, "description": "The audio."}}

# Some clients drop a line of 128 KiB or more; the rest is for the timestamps that go with the audio.
_MAX_LINE_AUDIO_BYTES = 60_000


def router(
    pipeline: Pipeline,
    scheduler: Scheduler,
    voices: VoiceCatalogue,
    voice_settings: VoiceSettingsStore,
    max_characters: int,
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["speech"], dependencies=[Depends(require_json)])

    def parse_request(voice_id: str, body: SpeechBody) -> SynthesisRequest:
        """Everything that can fail cheaply fails here."""
        scheduler.require_ready()
        if len(body.text) > max_characters:
            raise TextTooLong(len(body.text), max_characters)
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
        )

    async def render(parts: Parts, http: Request) -> AudioPart:
        """The whole clip; a client that hangs up ends the work."""
        latest = AudioPart()
        async with aclosing(scheduler.stream(parts, audio_clock())) as made:
            async for part in made:
                latest = part
                if await http.is_disconnected():
                    break
        return latest

    async def start(parts: Parts) -> AsyncGenerator[AudioPart]:
        """The parts, once the first is there: what fails at once fails with a status of its own."""
        made = scheduler.stream(parts, audio_clock())
        first = await anext(made)

        async def continue_from_first() -> AsyncGenerator[AudioPart]:
            async with aclosing(made):
                yield first
                async for part in made:
                    yield part

        return continue_from_first()

    @router.post("/{voice_id}", responses=_AUDIO, response_class=Response)
    async def create_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Synthesizes a text and returns the whole clip."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        part = await render(pipeline.render(request, audio), http)
        return Response(part.audio, media_type=audio.content_type, headers=_headers(request, body))

    @router.post("/{voice_id}/with-timestamps")
    async def create_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> JSONResponse:
        """Synthesizes a text and returns JSON: the whole clip in base64, and the times of every character."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        part = await render(pipeline.render(request, audio), http)
        return JSONResponse(_to_json(part), headers=_headers(request, body))

    @router.post("/{voice_id}/stream", responses=_AUDIO, response_class=StreamingResponse)
    async def stream_speech(voice_id: str, body: SpeechBody, output_format: str = formats.DEFAULT) -> StreamingResponse:
        """Synthesizes a text and streams the audio."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        parts = await start(pipeline.stream(request, audio))
        content = (part.audio async for part in parts)
        return StreamingResponse(content, media_type=audio.content_type, headers=_headers(request, body))

    @router.post("/{voice_id}/stream/with-timestamps", response_class=StreamingResponse)
    async def stream_speech_with_timestamps(
        voice_id: str, body: SpeechBody, output_format: str = formats.DEFAULT
    ) -> StreamingResponse:
        """Synthesizes a text and streams lines of JSON, each with audio in base64 and the times of its characters."""
        audio = formats.find(output_format)
        request = parse_request(voice_id, body)
        parts = await start(pipeline.stream(request, audio))
        lines = (line async for part in parts for line in _to_lines(part))
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=_headers(request, body))

    return router


def _headers(request: SynthesisRequest, body: SpeechBody) -> dict[str, str]:
    return {
        "x-svc-voice": request.voice.voice_id,
        "x-svc-model": body.model_id if body.model_id else MODEL_ID,
        "character-cost": str(len(request.text)),
    }


def _to_lines(part: AudioPart) -> list[str]:
    """The part as lines of JSON in ASCII, because some clients split lines at further Unicode characters."""
    pieces = part.split(_MAX_LINE_AUDIO_BYTES)
    return [json.dumps(_to_json(piece)) + "\n" for piece in pieces if piece.audio or piece.alignment.characters]


def _to_json(part: AudioPart) -> dict[str, Any]:
    return {
        "audio_base64": base64.b64encode(part.audio).decode(),
        "alignment": _alignment_to_json(part.alignment),
        "normalized_alignment": _alignment_to_json(part.normalized),
    }


def _alignment_to_json(alignment: Alignment) -> dict[str, Any] | None:
    if not alignment.characters:
        return None
    return {
        "characters": alignment.characters,
        "character_start_times_seconds": [round(time, 3) for time in alignment.starts],
        "character_end_times_seconds": [round(time, 3) for time in alignment.ends],
    }
