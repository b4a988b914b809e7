"""`GET /previews/{voice_id}.mp3`: a voice introduces itself.

No key is asked for, as an <audio> element can send none. A cloned voice is not for everybody to hear: its address
holds a token, which the lists of voices give to those who may see them.
"""

import secrets
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

from fastapi import APIRouter, Response

from svc.audio import formats
from svc.errors import VoiceNotFound
from svc.synthesis.pipeline import AudioPart, Pipeline, SynthesisRequest, clip
from svc.synthesis.scheduler import Scheduler
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.preview_texts import INTRODUCTIONS

_FORMAT = formats.find("mp3_44100_64")
_PRIVATE = {"cache-control": "private, max-age=300", "referrer-policy": "no-referrer"}


def address(voice: Voice, base_url: str) -> str:
    """Where the voice can be heard."""
    if voice.custom is None:
        return f"{base_url}previews/{voice.voice_id}.mp3"
    # The revision changes nothing but the address: who has heard the voice before hears it anew after a change.
    query = f"token={voice.custom.preview_token}&revision={voice.custom.revision}"
    return f"{base_url}previews/{voice.voice_id}.mp3?{query}"


def router(speech: Pipeline, scheduler: Scheduler, voices: VoiceCatalogue, cache: Path) -> APIRouter:
    router = APIRouter(prefix="/previews", tags=["voices"])

    async def introduced(voice: Voice) -> bytes:
        request = SynthesisRequest(INTRODUCTIONS[voice.language], voice)
        latest = AudioPart()
        work = clip(speech.speak(request), _FORMAT, speech.sample_rate, request.text)
        async with aclosing(scheduler.stream(work)) as parts:
            async for part in parts:
                latest = part
        return latest.audio

    @router.get("/{voice_id}.mp3", response_class=Response)
    async def preview(voice_id: str, token: str = "") -> Response:
        """A few words by the voice. Those of a built-in voice are made once and then kept."""
        voice = voices.find(voice_id)
        if voice.custom:
            if not secrets.compare_digest(token.encode(), voice.custom.preview_token.encode()):
                raise VoiceNotFound(voice_id)
            return Response(await introduced(voice), media_type=_FORMAT.content_type, headers=_PRIVATE)
        file = cache / f"{voice.voice_id}-{speech.engine_name}.mp3"
        if not file.exists():
            _keep(file, await introduced(voice))
        return Response(file.read_bytes(), media_type=_FORMAT.content_type)

    return router


def _keep(file: Path, audio: bytes) -> None:
    """Beside its place first, under a name of its own: two may be making the same one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(f".{uuid4().hex}")
    beside.write_bytes(audio)
    beside.replace(file)
