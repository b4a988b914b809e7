"""`POST /v1/text-to-dialogue`: turns of several voices in, one piece of audio out; as for speech, in four shapes."""

from dataclasses import replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from svc.api.account import new_history_item_id
from svc.api.authentication import get_principal
from svc.api.middleware.bodies import JsonRoute
from svc.api.models import MODEL_ID
from svc.api.speech.dialogue_schemas import DialogueBody
from svc.api.speech.dialogue_voices import DialogueVoices
from svc.api.speech.http_synthesis import HttpSynthesis
from svc.api.speech.language_header import describe_language
from svc.api.speech.responses import AudioClip, AudioStream, TimestampedClip, TimestampStream
from svc.api.speech.text_to_speech import AUDIO, FormatName
from svc.audio import formats
from svc.dictionaries.catalogue import describe_applied
from svc.synthesis.request import Dialogue, Reading


def router(synthesis: HttpSynthesis, voices: DialogueVoices) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-dialogue", tags=["dialogue"], route_class=JsonRoute)

    def parse_request(body: DialogueBody, http: Request) -> Dialogue:
        """Everything that can fail cheaply fails here."""
        synthesis.require_allowed(*(each.text for each in body.inputs))
        requests = voices.resolve(
            dict.fromkeys(each.voice_id for each in body.inputs),
            get_principal(http),
            body.settings,
            body.named_language,
            body.parse_seed(),
            body.pronunciation_dictionary_locators,
        )
        turns = [replace(requests[each.voice_id], text=each.text) for each in body.inputs]
        return Dialogue(turns).in_context(body.previous_text or "", body.future_text or "")

    @router.post("", responses=AUDIO, response_class=Response)
    async def create_dialogue(
        body: DialogueBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a dialogue and returns the whole clip."""
        audio = formats.find(output_format)
        request = parse_request(body, http)
        clip = await synthesis.render(request, audio, http)
        return AudioClip(clip, audio.content_type, _headers(request, body, clip.reading))

    @router.post("/with-timestamps", response_class=JSONResponse)
    async def create_dialogue_with_timestamps(
        body: DialogueBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a dialogue and returns JSON: the clip in base64, the times of every character and of every turn.

        Characters are counted over all texts joined. Each of the `voice_segments` has a `voice_id` as the request has
        it, `start_time_seconds`, `end_time_seconds`, `character_start_index`, `character_end_index` (exclusive) and
        `dialogue_input_index`.
        """
        audio = formats.find(output_format)
        request = parse_request(body, http)
        clip = await synthesis.render(request, audio, http, timestamps=True)
        return TimestampedClip(clip, _headers(request, body, clip.reading), _voice_ids(body))

    @router.post("/stream", responses=AUDIO, response_class=StreamingResponse)
    async def stream_dialogue(
        body: DialogueBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a dialogue and streams the audio."""
        audio = formats.find(output_format)
        request = parse_request(body, http)
        reading, parts = await synthesis.start(request, audio, http)
        return AudioStream(parts, audio.content_type, _headers(request, body, reading))

    @router.post("/stream/with-timestamps", response_class=StreamingResponse)
    async def stream_dialogue_with_timestamps(
        body: DialogueBody, http: Request, output_format: FormatName = formats.DEFAULT
    ) -> Response:
        """Synthesizes a dialogue and streams lines of JSON, each with audio in base64 and the times of its characters.

        The `voice_segments` of a line are the parts of turns that are heard in it. Times and indices count from the
        beginning of the dialogue.
        """
        audio = formats.find(output_format)
        request = parse_request(body, http)
        reading, parts = await synthesis.start(request, audio, http, timestamps=True)
        return TimestampStream(parts, "application/x-ndjson", _headers(request, body, reading), _voice_ids(body))

    return router


def _voice_ids(body: DialogueBody) -> list[str]:
    """Of the turns, as the client knows them."""
    return [each.voice_id for each in body.inputs]


def _headers(request: Dialogue, body: DialogueBody, reading: Reading) -> dict[str, str]:
    rules = request.turns[0].rules
    applied = {"x-svc-dictionaries": describe_applied(rules)} if body.pronunciation_dictionary_locators else {}
    return {
        **applied,
        "x-svc-voice": ", ".join(dict.fromkeys(turn.voice.voice_id for turn in request.turns)),
        "x-svc-model": body.model_id if body.model_id else MODEL_ID,
        "character-cost": str(len(request.text)),
        "history-item-id": new_history_item_id(),
        **describe_language(body.named_language, request.turns[0].language, reading),
    }
