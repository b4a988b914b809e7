"""`GET /previews/{voice_id}.mp3`: a short sample of a voice.

It needs no key, because an <audio> element can send none. The URL of a custom voice holds a token instead, which only
the voice lists, which do need a key, give out.
"""

import secrets
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from svc.api.middleware.requests import LONGEST_ADDRESS
from svc.api.speech.disconnect import run_unless_disconnected
from svc.api.voices import ranges
from svc.errors import VoiceNotFound
from svc.synthesis.previews import FORMAT, Previews
from svc.voices.catalogue import Voice, VoiceCatalogue

_PRIVATE = {"cache-control": "private, max-age=300", "referrer-policy": "no-referrer"}


def preview_url(voice: Voice, base_url: str) -> str | None:
    """A mix that is not stored has none: whoever has no key could have any number of them made."""
    if voice.parts and not voice.custom:
        return None
    if voice.custom is None:
        return f"{base_url}previews/{voice.voice_id}.mp3"
    # The revision is ignored here: a new URL after a change makes browsers fetch the preview again.
    query = f"token={voice.custom.preview_token}&revision={voice.custom.revision}"
    return f"{base_url}previews/{voice.voice_id}.mp3?{query}"


def router(previews: Previews, voices: VoiceCatalogue) -> APIRouter:
    router = APIRouter(prefix="/previews", tags=["voices"])

    @router.get("/{voice_id}.mp3", response_class=Response)
    async def preview(
        voice_id: str, request: Request, token: Annotated[str, Query(max_length=LONGEST_ADDRESS)] = ""
    ) -> Response:
        """A short sample of the voice. Samples are made once and kept."""
        voice = voices.find(voice_id)
        if preview_url(voice, "") is None:
            raise VoiceNotFound(voice_id, "A mix has a preview once it is kept as a custom voice.")
        if voice.custom and not secrets.compare_digest(token.encode(), voice.custom.preview_token.encode()):
            raise VoiceNotFound(voice_id)
        audio = await run_unless_disconnected(request, previews.get(voice))
        return ranges.respond(request, audio, FORMAT.content_type, _PRIVATE if voice.custom else {})

    return router
