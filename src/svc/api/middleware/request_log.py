"""One line in the log for each request and each socket, when it ends: no text, no secret, no custom voice's name."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.middleware.request_metrics import RouteTemplates
from svc.api.speech import language_header
from svc.auth.keys import Principal

log = logging.getLogger(__name__)

# Asked for every few seconds by machines.
_QUIET_PATHS = frozenset({"/health", "/readyz", "/metrics"})


class RequestLog:
    def __init__(self, app: ASGIApp, templates: RouteTemplates) -> None:
        self._app = app
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        entry = _Entry(scope["type"] == "websocket")

        async def receive_and_note(*_: Any) -> Message:
            message = await receive()
            entry.note_received(message)
            return message

        async def send_and_note(message: Message) -> None:
            entry.note_sent(message)
            await send(message)

        path = scope["path"]  # a mount changes it
        try:
            await self._app(scope, receive_and_note, send_and_note)
        finally:
            level = logging.DEBUG if path in _QUIET_PATHS else logging.INFO
            method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
            route, status = describe_route(scope) or self._templates.find(path), entry.status
            fields = entry.describe(scope, route)
            log.log(level, "%s %s %s", method, route, status or "-", extra={"fields": fields})


def describe_route(scope: Scope) -> str | None:
    """The template of the path that was matched, never the path itself: that may name a custom voice.

    None if the request was refused before it got to a route.
    """
    template = getattr(scope.get("route"), "path", None)
    if isinstance(template, str):
        return template
    mounted: str = scope.get("root_path", "")
    return f"{mounted}/*" if mounted and "endpoint" in scope else None


@dataclass(slots=True)
class _Entry:
    is_socket: bool
    begun: float = field(default_factory=time.monotonic)
    status: int | None = None
    close_code: int | None = None
    bytes: int = 0
    first_byte_at: float | None = None
    complete: bool = False
    characters: int | None = None
    voice: str | None = None
    language: str | None = None

    def note_received(self, message: Message) -> None:
        if message["type"] == "websocket.disconnect" and self.close_code is None:
            self.close_code = message.get("code")

    def note_sent(self, message: Message) -> None:
        kind = message["type"].removeprefix("websocket.")
        if kind in ("http.response.start", "accept"):
            self.status = message.get("status", 101)
            headers = Headers(raw=message.get("headers", []))
            self.characters = int(headers["character-cost"]) if "character-cost" in headers else None
            self.voice = headers.get("x-svc-voice")
            self.language = headers.get(language_header.HEADER)
        elif kind in ("http.response.body", "send"):
            size = len(message.get("body") or message.get("bytes") or message.get("text") or b"")
            if size and self.first_byte_at is None:
                self.first_byte_at = time.monotonic()
            self.bytes += size
            self.complete = kind != "send" and not message.get("more_body", False)
        elif kind == "close":
            self.close_code = message.get("code", 1000)
            self.complete = True

    def describe(self, scope: Scope, route: str) -> dict[str, Any]:
        state = scope.get("state", {})
        principal: Principal | None = state.get("principal")
        first_byte = None if self.first_byte_at is None else round(self.first_byte_at - self.begun, 4)
        # A socket that its client closed in order has not been aborted.
        aborted = not self.complete and not (self.is_socket and self.close_code in (1000, 1001, 1005))
        return {
            "request_id": state.get("request_id"),
            "method": "WEBSOCKET" if self.is_socket else scope["method"],
            "route": route,
            "status": self.status,
            "close_code": self.close_code,
            "key": principal.key_id if principal else None,
            "bytes": self.bytes,
            "seconds": round(time.monotonic() - self.begun, 4),
            "first_byte_seconds": first_byte,
            "characters": state.get("characters", self.characters),
            "voice": _describe_voice(state.get("voice", self.voice)),
            "language": self.language,
            "aborted": aborted,
        }


def _describe_voice(voice_ids: str | None) -> str | None:
    """Of a dialogue several, separated by commas."""
    if voice_ids is None:
        return None
    return ", ".join(dict.fromkeys("custom" if "custom-" in each else each for each in voice_ids.split(", ")))
