"""`POST /v1/text-to-speech/{voice_id}`: text in, audio out, whole or as it is made."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from svc.api.schemas import SpeechBody
from svc.audio import formats
from svc.audio.formats import OutputFormat
from svc.delivery import VoiceSettings
from svc.errors import TextTooLong
from svc.scheduler import Scheduler
from svc.speech import Speech, SpeechRequest, clip, stream
from svc.voices import Voices

_AUDIO: dict[int | str, dict[str, Any]] = {200: {"content": {"audio/*": {}}, "description": "The audio."}}


def router(speech: Speech, scheduler: Scheduler, voices: Voices, max_characters: int) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["speech"])

    def understood(voice_id: str, body: SpeechBody) -> SpeechRequest:
        """Everything that can fail cheaply fails here."""
        scheduler.require_ready()
        if len(body.text) > max_characters:
            raise TextTooLong(len(body.text), max_characters)
        voice = voices.resolve(voice_id)
        settings = VoiceSettings()
        return SpeechRequest(
            text=body.text,
            voice=voice,
            settings=body.voice_settings.over(settings) if body.voice_settings else settings,
            language=body.named_language(voice.language),
            seed=body.whole_seed(),
            previous_text=body.previous_text or "",
            next_text=body.next_text or "",
        )

    @router.post("/{voice_id}", responses=_AUDIO, response_class=Response)
    async def create_speech(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Speaks a text and returns the whole clip."""
        audio_format = formats.find(output_format)
        request = understood(voice_id, body)
        audio = b""
        async with aclosing(scheduler.stream(clip(speech.speak(request), audio_format, speech.sample_rate))) as parts:
            async for part in parts:
                audio += part
                if await http.is_disconnected():
                    break
        return Response(audio, headers=_headers(request, audio_format))

    @router.post("/{voice_id}/stream", responses=_AUDIO, response_class=StreamingResponse)
    async def stream_speech(voice_id: str, body: SpeechBody, output_format: str = formats.DEFAULT) -> StreamingResponse:
        """Speaks a text and sends the audio as it is made."""
        audio_format = formats.find(output_format)
        request = understood(voice_id, body)
        parts = scheduler.stream(stream(speech.speak(request), audio_format, speech.sample_rate))
        first = await anext(parts)  # what fails at once fails with a status of its own
        return StreamingResponse(_continued(first, parts), headers=_headers(request, audio_format))

    return router


def _headers(request: SpeechRequest, audio_format: OutputFormat) -> dict[str, str]:
    return {
        "content-type": audio_format.content_type,
        "x-svc-voice": request.voice.voice_id,
        "character-cost": str(len(request.text)),
    }


async def _continued(first: bytes, parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part
