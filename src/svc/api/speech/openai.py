"""The speech API of OpenAI: `/v1/audio/…`, and all of it below `/openai/v1`, where `/models` has its shape, too."""

import base64
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from svc.api.authentication import get_principal
from svc.api.errors import RESPONSES
from svc.api.middleware.bodies import JsonRoute
from svc.api.models import MODEL_ID
from svc.api.speech.http_synthesis import HttpSynthesis
from svc.api.speech.openai_schemas import (
    FORMATS,
    AudioModel,
    AudioModels,
    CreateSpeechBody,
    OpenAiError,
    OpenAiModel,
    OpenAiModels,
    OpenAiVoice,
    OpenAiVoices,
)
from svc.api.speech.responses import AudioStream
from svc.api.speech.text_to_speech import make_headers
from svc.audio import formats
from svc.auth.keys import Principal
from svc.errors import ModelNotFound, VoiceNotFound
from svc.synthesis.request import AudioPart, SynthesisRequest
from svc.voices import known_voices
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore

# Ids that clients ask for; some offer only those that are listed.
_MODELS = (MODEL_ID, "tts-1", "tts-1-hd", "gpt-4o-mini-tts")

_MAX_EVENT_AUDIO_BYTES = 48_000


class SpeechEvents(AudioStream):
    """Server-sent events: deltas with audio in Base64, then one that says that it is done."""

    def __init__(self, parts: AsyncGenerator[AudioPart], characters: int, headers: dict[str, str]) -> None:
        self._characters = characters
        super().__init__(parts, "text/event-stream", {**headers, "cache-control": "no-cache"})

    async def _write(self, parts: AsyncGenerator[AudioPart]) -> AsyncIterator[bytes]:
        seconds = 0.0
        async for part in parts:
            seconds += part.seconds
            for start in range(0, len(part.audio), _MAX_EVENT_AUDIO_BYTES):
                audio = base64.b64encode(part.audio[start : start + _MAX_EVENT_AUDIO_BYTES]).decode()
                yield _write_event({"type": "speech.audio.delta", "audio": audio})
        # This engine counts no tokens: the text is counted in characters, the audio in seconds.
        spoken = math.ceil(seconds)
        usage = {"input_tokens": self._characters, "output_tokens": spoken, "total_tokens": self._characters + spoken}
        yield _write_event({"type": "speech.audio.done", "usage": usage})


_AUDIO: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/*": {}, "text/event-stream": {}}, "description": "The audio, or events with audio."}
}
_ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": OpenAiError} for status in RESPONSES}


def _write_event(event: dict[str, object]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def router(
    synthesis: HttpSynthesis, voices: VoiceCatalogue, voice_settings: VoiceSettingsStore, aliases: Iterable[str]
) -> APIRouter:
    models = [OpenAiModel(id=model_id) for model_id in dict.fromkeys((*_MODELS, *aliases))]
    router = APIRouter(tags=["openai"], responses=_ERRORS, route_class=JsonRoute)

    def resolve_voice(name: str | None, caller: Principal) -> Voice:
        """The voice with that id or name; then that which speaks for OpenAI's; then as for every id elsewhere."""
        if name is None:
            return voices.default
        try:
            return voices.find(name, caller, names_of_others=False)
        except VoiceNotFound:
            return voices.resolve(known_voices.OPENAI_NAMES.get(name.lower(), name), caller)

    def parse_request(body: CreateSpeechBody, caller: Principal) -> SynthesisRequest:
        synthesis.require_allowed(body.input)
        voice = resolve_voice(body.voice, caller)
        settings = voice_settings.get(voice, caller)
        return SynthesisRequest(
            body.input, voice, settings if body.speed is None else replace(settings, speed=body.speed)
        )

    @router.post("/openai/v1/audio/speech", include_in_schema=False)
    @router.post("/v1/audio/speech", responses=_AUDIO, response_class=StreamingResponse)
    async def create_openai_speech(body: CreateSpeechBody, http: Request) -> Response:
        """Synthesizes a text and streams the audio, or events with audio."""
        audio = formats.find(FORMATS[body.response_format])
        request = parse_request(body, get_principal(http))
        reading, parts = await synthesis.start(request, audio, http)
        headers = make_headers(request, body.model, reading)
        if body.stream_format == "sse":
            return SpeechEvents(parts, len(request.text), headers)
        return AudioStream(parts, audio.content_type, headers)

    @router.get("/openai/v1/audio/voices", include_in_schema=False)
    @router.get("/v1/audio/voices")
    async def list_openai_voices(http: Request) -> OpenAiVoices:
        """The voices that the key may use, by the ids and names that `voice` takes."""
        listed = voices.list_for(get_principal(http))
        return OpenAiVoices(voices=[OpenAiVoice(id=voice.key, name=voice.name) for voice in listed])

    @router.get("/openai/v1/audio/models", include_in_schema=False)
    @router.get("/v1/audio/models")
    async def list_audio_models() -> AudioModels:
        """The same as `/models`, as Open WebUI asks for it."""
        return AudioModels(models=[AudioModel(id=model.id) for model in models])

    @router.get("/openai/v1/models")
    async def list_openai_models() -> OpenAiModels:
        """The one engine, under the names that clients know."""
        return OpenAiModels(data=models)

    @router.get("/openai/v1/models/{model_id:path}")
    async def get_openai_model(model_id: str) -> OpenAiModel:
        """One of them."""
        for model in models:
            if model.id == model_id:
                return model
        raise ModelNotFound(model_id)

    return router
