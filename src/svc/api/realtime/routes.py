"""`stream-input` and `multi-stream-input`, below `/v1/text-to-speech/{voice_id}` and `/v1/text-to-dialogue`."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, WebSocket

from svc.api.authentication import read_handshake_credential
from svc.api.errors import render_error
from svc.api.realtime.connections import WEBSOCKET
from svc.api.realtime.dialogue import DialogueMultiStreamInput, DialogueStreamInput
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters, close
from svc.api.realtime.speech import MultiStreamInput, StreamInput
from svc.api.speech.language_header import describe_named_language
from svc.api.speech.schemas import parse_number
from svc.audio import formats
from svc.errors import SvcError
from svc.process.lifecycle import Lifecycle
from svc.text.language.languages import Language

_DEFAULT_INACTIVITY_TIMEOUT, _MAX_INACTIVITY_TIMEOUT = 20.0, 180.0  # seconds


def router(dependencies: SessionDependencies, lifecycle: Lifecycle) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["realtime"])
    connections = dependencies.connections

    async def serve(
        kind: type[Session[Any]], socket: WebSocket, create: Callable[[StreamParameters], Session[Any]]
    ) -> None:
        try:  # what is refused before the handshake costs least, and keeps clients from retrying at once
            connections.require_capacity(WEBSOCKET)
            dependencies.scheduler.require_ready()
            principal = await kind.authenticate(dependencies.verifier, read_handshake_credential(socket))
            connections.require_capacity(WEBSOCKET, principal)
        except SvcError as error:
            await socket.send_denial_response(render_error(error))
            return
        language = _name_language(socket.query_params)
        headers = describe_named_language(language, Language.parse(language) if language else None)
        await socket.accept(headers=[(name.encode(), value.encode()) for name, value in headers.items()])
        try:
            lifecycle.require_running()  # a shutdown may have begun during the handshake
            session = create(_parse_parameters(socket.query_params))
            session.principal = principal
            with connections.register(session):
                await session.run(principal)
        except SvcError as error:
            await close(socket, SocketClose.from_error(error), kind.messages())
            return
        # For the request log.
        socket.state.principal = session.principal
        socket.state.characters, socket.state.voice = session.characters, ", ".join(session.voice_ids)

    @router.websocket("/text-to-speech/{voice_id}/stream-input")
    async def stream_input(socket: WebSocket, voice_id: str) -> None:
        await serve(StreamInput, socket, lambda each: StreamInput(socket, dependencies, each, voice_id))

    @router.websocket("/text-to-speech/{voice_id}/multi-stream-input")
    async def multi_stream_input(socket: WebSocket, voice_id: str) -> None:
        await serve(MultiStreamInput, socket, lambda each: MultiStreamInput(socket, dependencies, each, voice_id))

    @router.websocket("/text-to-dialogue/stream-input")
    async def dialogue_stream_input(socket: WebSocket) -> None:
        await serve(DialogueStreamInput, socket, lambda each: DialogueStreamInput(socket, dependencies, each))

    @router.websocket("/text-to-dialogue/multi-stream-input")
    async def dialogue_multi_stream_input(socket: WebSocket) -> None:
        await serve(DialogueMultiStreamInput, socket, lambda each: DialogueMultiStreamInput(socket, dependencies, each))

    return router


def _name_language(query: Mapping[str, str]) -> str | None:
    return query.get("language_code") or query.get("language")


def _parse_parameters(query: Mapping[str, str]) -> StreamParameters:
    """Ignores unknown parameters and invalid values; only an unknown output format is an error."""
    seed = parse_number(query.get("seed"))
    timeout = parse_number(query.get("inactivity_timeout"))
    return StreamParameters(
        output_format=formats.find(query.get("output_format", formats.DEFAULT)),
        language_code=_name_language(query),
        seed=None if seed is None else int(seed) % 2**32,
        inactivity_timeout=min(max(timeout or _DEFAULT_INACTIVITY_TIMEOUT, 1.0), _MAX_INACTIVITY_TIMEOUT),
        sync_alignment=_parse_flag(query.get("sync_alignment")),
        auto_mode=_parse_flag(query.get("auto_mode")),
    )


def _parse_flag(value: str | None) -> bool:
    return (value or "").lower() in {"true", "1", "yes", "on"}
