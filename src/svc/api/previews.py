"""`GET /previews/{voice_id}.mp3`: a short sample of a voice.

It needs no key, because an <audio> element can send none. The URL of a custom voice holds a token instead, which only
the voice lists, which do need a key, give out.
"""

import secrets
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

from fastapi import APIRouter, Response

from svc.audio import formats
from svc.errors import VoiceNotFound
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.catalogue import Voice, VoiceCatalogue

_FORMAT = formats.find("mp3_44100_64")
_PRIVATE = {"cache-control": "private, max-age=300", "referrer-policy": "no-referrer"}


def preview_url(voice: Voice, base_url: str) -> str:
    if voice.custom is None:
        return f"{base_url}previews/{voice.voice_id}.mp3"
    # The revision is ignored here: a new URL after a change makes browsers fetch the preview again.
    query = f"token={voice.custom.preview_token}&revision={voice.custom.revision}"
    return f"{base_url}previews/{voice.voice_id}.mp3?{query}"


def router(pipeline: Pipeline, scheduler: Scheduler, voices: VoiceCatalogue, cache: Path) -> APIRouter:
    router = APIRouter(prefix="/previews", tags=["voices"])

    async def synthesize_preview(voice: Voice) -> bytes:
        request = SynthesisRequest(PREVIEW_TEXTS[voice.language], voice)
        clip = Clip()
        async with aclosing(scheduler.run_in_background(pipeline.render(request, _FORMAT, clip))) as parts:
            async for _ in parts:
                pass
        return clip.audio

    @router.get("/{voice_id}.mp3", response_class=Response)
    async def preview(voice_id: str, token: str = "") -> Response:
        """A short sample of the voice. Samples of built-in voices are cached."""
        voice = voices.find(voice_id)
        if voice.custom:
            if not secrets.compare_digest(token.encode(), voice.custom.preview_token.encode()):
                raise VoiceNotFound(voice_id)
            return Response(await synthesize_preview(voice), media_type=_FORMAT.content_type, headers=_PRIVATE)
        file = cache / f"{voice.voice_id}-{pipeline.engine_name}.mp3"
        if not file.exists():
            _save(file, await synthesize_preview(voice))
        return Response(file.read_bytes(), media_type=_FORMAT.content_type)

    return router


def _save(file: Path, audio: bytes) -> None:
    """Writes to a unique name first, because two requests may be making the same preview."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(f".{uuid4().hex}")
    beside.write_bytes(audio)
    beside.replace(file)
