"""`/v1/text-to-speech/{voice_id}/stream-input` and `…/multi-stream-input`."""

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, WebSocket

from svc.api.authentication import read_handshake_credential
from svc.api.errors import render_error
from svc.api.language_header import describe_language
from svc.api.realtime.connections import Connections
from svc.api.realtime.protocols import MultiStreamInput, StreamInput
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters, close
from svc.api.schemas import parse_number
from svc.audio import formats
from svc.errors import SvcError
from svc.lifecycle import Lifecycle
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue

_DEFAULT_INACTIVITY_TIMEOUT, _MAX_INACTIVITY_TIMEOUT = 20.0, 180.0  # seconds


def router(
    dependencies: SessionDependencies, connections: Connections, voices: VoiceCatalogue, lifecycle: Lifecycle
) -> APIRouter:
    router = APIRouter(prefix="/v1/text-to-speech", tags=["realtime"])

    def check() -> None:
        """Refuses before the handshake, which costs least and keeps clients from retrying at once."""
        connections.require_capacity()
        dependencies.scheduler.require_ready()

    async def serve(kind: type[Session], socket: WebSocket, voice_id: str) -> None:
        try:
            check()
            principal = await kind.authenticate(dependencies.verifier, read_handshake_credential(socket))
        except SvcError as error:
            await socket.send_denial_response(render_error(error))
            return
        language = _name_language(socket.query_params)
        headers = describe_language(language, Language.parse(language) if language else None)
        await socket.accept(headers=[(name.encode(), value.encode()) for name, value in headers.items()])
        try:
            lifecycle.require_running()  # a shutdown may have begun during the handshake
            resolve = partial(voices.resolve, voice_id)
            session = kind(socket, dependencies, _parse_parameters(socket.query_params), resolve)
            with connections.register(session):
                await session.run(principal)
        except SvcError as error:
            await close(socket, SocketClose.from_error(error))
            return
        # For the request log.
        socket.state.principal = session.principal
        socket.state.characters = session.characters
        socket.state.voice = session.voice and session.voice.voice_id

    @router.websocket("/{voice_id}/stream-input")
    async def stream_input(socket: WebSocket, voice_id: str) -> None:
        await serve(StreamInput, socket, voice_id)

    @router.websocket("/{voice_id}/multi-stream-input")
    async def multi_stream_input(socket: WebSocket, voice_id: str) -> None:
        await serve(MultiStreamInput, socket, voice_id)

    return router


def _name_language(query: Mapping[str, str]) -> str | None:
    return query.get("language_code") or query.get("language")


def _parse_parameters(query: Mapping[str, str]) -> StreamParameters:
    """Ignores unknown parameters and invalid values; only an unknown output format is an error."""
    seed = parse_number(query.get("seed"))
    timeout = parse_number(query.get("inactivity_timeout"))
    return StreamParameters(
        output_format=formats.find(query.get("output_format", formats.DEFAULT)),
        language=_name_language(query),
        seed=None if seed is None else int(seed) % 2**32,
        inactivity_timeout=min(max(timeout or _DEFAULT_INACTIVITY_TIMEOUT, 1.0), _MAX_INACTIVITY_TIMEOUT),
        sync_alignment=_parse_flag(query.get("sync_alignment")),
        auto_mode=_parse_flag(query.get("auto_mode")),
    )


def _parse_flag(value: str | None) -> bool:
    return (value or "").lower() in {"true", "1", "yes", "on"}
