"""`/v1/text-to-speech/{voice_id}/stream-input` and `…/multi-stream-input`: the doors to the realtime sockets."""

from collections.abc import Mapping

from fastapi import APIRouter, WebSocket

from svc.api.authentication import handshake_credential
from svc.api.cors import Origins
from svc.api.errors import rendered
from svc.api.realtime.connections import Connections
from svc.api.realtime.multi_stream_input import MultiStreamInput
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters, close
from svc.api.realtime.stream_input import StreamInput
from svc.api.schemas import number
from svc.audio import formats
from svc.errors import ForeignPage, SvcError
from svc.text.language import Language
from svc.voices.catalogue import Voice, VoiceCatalogue

_INACTIVITY_SECONDS, _LONGEST_INACTIVITY_SECONDS = 20.0, 180.0


def router(
    dependencies: SessionDependencies, sockets: Connections, voices: VoiceCatalogue, origins: Origins
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["realtime"])

    def check(socket: WebSocket) -> None:
        """What is refused before there is a socket at all: it costs the least, and clients do not try again at once."""
        sockets.require_place()
        dependencies.scheduler.require_ready()
        if not origins.allow(socket.headers.get("origin")):
            raise ForeignPage

    async def converse(kind: type[Session], socket: WebSocket, voice_id: str) -> None:
        try:
            check(socket)
            principal = await kind.authenticate(dependencies.verifier, handshake_credential(socket))
        except SvcError as error:
            await socket.send_denial_response(rendered(error))
            return
        await socket.accept()
        try:
            session = kind(socket, dependencies, _parameters(voices.resolve(voice_id), socket.query_params))
        except SvcError as error:
            await close(socket, SocketClose.because(error))
            return
        with sockets.connected(session):
            await session.run(principal)

    @router.websocket("/{voice_id}/stream-input")
    async def stream_input(socket: WebSocket, voice_id: str) -> None:
        await converse(StreamInput, socket, voice_id)

    @router.websocket("/{voice_id}/multi-stream-input")
    async def multi_stream_input(socket: WebSocket, voice_id: str) -> None:
        await converse(MultiStreamInput, socket, voice_id)

    return router


def _parameters(voice: Voice, query: Mapping[str, str]) -> StreamParameters:
    """Unknown parameters, and values that make no sense, are ignored; only a format cannot be guessed."""
    language = query.get("language_code") or query.get("language")
    seed = number(query.get("seed"))
    patience = number(query.get("inactivity_timeout"))
    return StreamParameters(
        voice=voice,
        output_format=formats.find(query.get("output_format", formats.DEFAULT)),
        language=Language.parse(language, voice.language) if language else None,
        seed=None if seed is None else int(seed) % 2**32,
        inactivity_timeout=min(max(patience or _INACTIVITY_SECONDS, 1.0), _LONGEST_INACTIVITY_SECONDS),
        sync_alignment=_flag(query.get("sync_alignment")),
        auto_mode=_flag(query.get("auto_mode")),
    )


def _flag(value: str | None) -> bool:
    return (value or "").lower() in {"true", "1", "yes", "on"}
