"""404 for paths that do not exist, with what helps: the path that was meant, or the feature that svc does not have.

Sockets get it too, in the handshake.
"""

import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from svc.api.errors import is_openai_path, render_error
from svc.errors import NotOffered, PathNotFound

# Paths of the commercial API, with all below them, and the features behind them. `*` is any one part of a path.
_FEATURES = {
    "/v1/assets": "stored assets",
    "/v1/audio-effects": "audio effects",
    "/v1/audio-isolation": "audio isolation",
    "/v1/audio-native": "the embedded audio player",
    "/v1/convai": "conversational agents",
    "/v1/dubbing": "dubbing",
    "/v1/flows": "flows",
    "/v1/forced-alignment": "forced alignment of recordings",
    "/v1/history/download": "a history of generated speech",
    "/v1/music": "music generation",
    "/v1/productions": "ordered productions",
    "/v1/projects": "studio projects",
    "/v1/service-accounts": "service accounts",
    "/v1/shared-voices": "the public voice library",
    "/v1/similar-voices": "the search for similar voices",
    "/v1/sound-generation": "sound effects",
    "/v1/speech-engine": "speech engine sessions",
    "/v1/speech-to-speech": "the voice changer",
    "/v1/speech-to-text": "speech recognition",
    "/v1/studio": "studio projects",
    "/v1/text-to-voice": "voice design",
    "/v1/usage": "usage statistics",
    "/v1/voice-changer": "the voice changer",
    "/v1/voice-generation": "voice design",
    "/v1/voices/accents": "a list of accents",
    "/v1/voices/add/*": "the public voice library",
    "/v1/voices/collections": "voice collections",
    "/v1/voices/pvc": "professional voice cloning",
    "/v1/voices/*/replicate-to-isolated-environment": "isolated environments",
    "/v1/voices/*/samples": "downloads of the recordings of a voice",
    "/v1/workspace": "workspaces",
    "/v1/workspaces": "workspaces",
}
_PARTS = [(path.split("/"), feature) for path, feature in _FEATURES.items()]


def find_feature(path: str) -> str | None:
    """What the commercial API has at that path and this server does not."""
    given = path.split("/")
    for parts, feature in _PARTS:
        if len(given) >= len(parts) and all(part in ("*", each) for part, each in zip(parts, given, strict=False)):
            return feature
    return None


def add_not_found(app: FastAPI) -> None:
    app.router.routes.insert(0, _NotOffered())  # first: some of the paths look like ids of voices
    app.router.redirect_slashes = False  # to an address that is wrong behind many proxies, and SDKs do not follow
    app.router.default = _UnknownPath(app)


class _NotOffered(BaseRoute):
    """Answers every method, and sockets."""

    def matches(self, scope: Scope) -> tuple[Match, dict[str, Any]]:
        return (Match.FULL if find_feature(scope["path"]) else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        feature = find_feature(scope["path"])
        assert feature is not None
        await render_error(NotOffered(feature))(scope, receive, send)


class _UnknownPath:
    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await render_error(PathNotFound(self._find_meant(scope)))(scope, receive, send)

    def _find_meant(self, scope: Scope) -> str | None:
        for path in _list_similar(scope["path"]):
            matches = (route.matches({**scope, "path": path})[0] for route in self._app.routes)
            if not find_feature(path) and Match.FULL in matches:
                return path
        return None


def _list_similar(path: str) -> Iterator[str]:
    """What a path would be with the base URL that it was meant for, without doubled and trailing slashes."""
    plain = re.sub("/{2,}", "/", path).rstrip("/")
    yield plain
    below = re.sub("^(/openai|/v1|/v2)+(?=/)", "", plain)
    prefixes = ("/openai/v1", "/v1") if is_openai_path(path) else ("/v1", "/v2", "")
    yield from (f"{prefix}{below}" for prefix in prefixes)
