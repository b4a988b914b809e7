"""`POST /v1/text-to-speech/{voice_id}`: text in, audio out; whole or as it is made, with or without times."""

import base64
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from svc.api.body_limits import json_only
from svc.api.models import MODEL_ID
from svc.api.schemas import SpeechBody
from svc.audio import formats
from svc.audio.formats import OutputFormat
from svc.errors import TextTooLong
from svc.synthesis.alignment import Alignment
from svc.synthesis.pipeline import AudioPart, Parts, Pipeline, SynthesisRequest, clip, playback_clock, stream
from svc.synthesis.scheduler import Scheduler
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings_store import VoiceSettingsStore

_AUDIO: dict[int | str, dict[str, Any]] = {200: {"content": {"audio/*": {}}, "description": "The audio."}}

# Some clients drop a line of 128 KiB or more; the rest is for the times that go with the audio.
_AUDIO_BYTES_A_LINE = 60_000


def router(
    speech: Pipeline,
    scheduler: Scheduler,
    voices: VoiceCatalogue,
    voice_settings: VoiceSettingsStore,
    max_characters: int,
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["speech"], dependencies=[Depends(json_only)])

    def understood(voice_id: str, body: SpeechBody) -> SynthesisRequest:
        """Everything that can fail cheaply fails here."""
        scheduler.require_ready()
        if len(body.text) > max_characters:
            raise TextTooLong(len(body.text), max_characters)
        voice = voices.resolve(voice_id)
        settings = voice_settings.get(voice.voice_id)
        return SynthesisRequest(
            text=body.text,
            voice=voice,
            settings=body.voice_settings.over(settings) if body.voice_settings else settings,
            language=body.named_language(voice.language),
            seed=body.whole_seed(),
            previous_text=body.previous_text or "",
            next_text=body.next_text or "",
        )

    def spoken(
        encode: Callable[..., Parts], request: SynthesisRequest, audio: OutputFormat
    ) -> AsyncGenerator[AudioPart]:
        work = encode(speech.speak(request), audio, speech.sample_rate, request.text)
        return scheduler.stream(work, playback_clock())

    async def whole(request: SynthesisRequest, audio: OutputFormat, http: Request) -> AudioPart:
        latest = AudioPart()
        async with aclosing(spoken(clip, request, audio)) as parts:
            async for part in parts:
                latest = part
                if await http.is_disconnected():
                    break
        return latest

    @router.post("/{voice_id}", responses=_AUDIO, response_class=Response)
    async def create_pipeline(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> Response:
        """Speaks a text and returns the whole clip."""
        audio = formats.find(output_format)
        request = understood(voice_id, body)
        part = await whole(request, audio, http)
        return Response(part.audio, media_type=audio.content_type, headers=_headers(request, body))

    @router.post("/{voice_id}/with-timestamps")
    async def create_speech_with_timestamps(
        voice_id: str, body: SpeechBody, http: Request, output_format: str = formats.DEFAULT
    ) -> JSONResponse:
        """Speaks a text and returns the whole clip with the times of its characters."""
        audio = formats.find(output_format)
        request = understood(voice_id, body)
        return JSONResponse(_timed(await whole(request, audio, http)), headers=_headers(request, body))

    @router.post("/{voice_id}/stream", responses=_AUDIO, response_class=StreamingResponse)
    async def stream_speech(voice_id: str, body: SpeechBody, output_format: str = formats.DEFAULT) -> StreamingResponse:
        """Speaks a text and sends the audio as it is made."""
        audio = formats.find(output_format)
        request = understood(voice_id, body)
        parts = await _begun(spoken(stream, request, audio))
        sound = (part.audio async for part in parts)
        return StreamingResponse(sound, media_type=audio.content_type, headers=_headers(request, body))

    @router.post("/{voice_id}/stream/with-timestamps", response_class=StreamingResponse)
    async def stream_speech_with_timestamps(
        voice_id: str, body: SpeechBody, output_format: str = formats.DEFAULT
    ) -> StreamingResponse:
        """Speaks a text and sends, line by line, JSON with audio and the times of the characters in it."""
        audio = formats.find(output_format)
        request = understood(voice_id, body)
        parts = await _begun(spoken(stream, request, audio))
        lines = (line async for part in parts for line in _lines(part))
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=_headers(request, body))

    return router


def _headers(request: SynthesisRequest, body: SpeechBody) -> dict[str, str]:
    return {
        "x-svc-voice": request.voice.voice_id,
        "x-svc-model": body.model_id if body.model_id else MODEL_ID,
        "character-cost": str(len(request.text)),
    }


async def _begun(parts: AsyncGenerator[AudioPart]) -> AsyncGenerator[AudioPart]:
    """The same parts, once the first is there: what fails at once fails with a status of its own."""
    first = await anext(parts)

    async def continued() -> AsyncGenerator[AudioPart]:
        async with aclosing(parts):
            yield first
            async for part in parts:
                yield part

    return continued()


def _lines(part: AudioPart) -> list[str]:
    """The part as lines of JSON, in ASCII: clients split lines at more characters than one thinks."""
    pieces = part.pieces(_AUDIO_BYTES_A_LINE)
    return [json.dumps(_timed(each)) + "\n" for each in pieces if each.audio or each.alignment.characters]


def _timed(part: AudioPart) -> dict[str, Any]:
    return {
        "audio_base64": base64.b64encode(part.audio).decode(),
        "alignment": _characters(part.alignment),
        "normalized_alignment": _characters(part.normalized),
    }


def _characters(alignment: Alignment) -> dict[str, Any] | None:
    if not alignment.characters:
        return None
    return {
        "characters": alignment.characters,
        "character_start_times_seconds": [round(time, 3) for time in alignment.starts],
        "character_end_times_seconds": [round(time, 3) for time in alignment.ends],
    }
