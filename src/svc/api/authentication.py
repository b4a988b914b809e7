"""Which credential a path needs: a full key, unless the path is listed here."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from svc.api.errors import render_error
from svc.auth.keys import Principal, Scope
from svc.auth.verifier import Verifier
from svc.errors import InsufficientScope, SvcError

_PUBLIC = frozenset({"/", "/health", "/readyz", "/docs", "/openapi.json", "/favicon.ico"})
# Previews are played by <audio> elements, which can send no credential; nor can a browser that loads a page.
_PUBLIC_BELOW = ("/previews/", "/docs/", "/page/")

# What the scope `tts` stands for: speech, in each API that the service has, and reading the voices. Paths, with all
# below them, and by which methods (None is any).
_READ = frozenset({"GET", "HEAD"})
_SPEECH_PATHS = {
    "/v1/text-to-speech": None,
    "/v1/text-to-dialogue": None,
    "/v1/audio/speech": None,
    "/openai/v1/audio/speech": None,
    "/v1/voices": _READ,
    "/v1/audio/voices": _READ,
    "/openai/v1/audio/voices": _READ,
}

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "xi-api-key": {"type": "apiKey", "in": "header", "name": "xi-api-key"},
}

# Stands for a credential that is no key, whatever it is: no header and no setting can contain this character.
_INVALID = "\0"

# Fields of a socket's first message that may carry a credential.
CREDENTIAL_FIELDS = frozenset({"authorization", "xi_api_key", "xi-api-key", "single_use_token"})


def describe_security(app: FastAPI) -> None:
    """Adds to the OpenAPI document how to send a key, which gives the docs page its Authorize button."""
    describe = app.openapi

    def describe_with_security() -> dict[str, Any]:
        description = describe()
        description.setdefault("components", {})["securitySchemes"] = _SECURITY_SCHEMES
        for path, operations in description["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if _is_public(path) else [{name: []} for name in _SECURITY_SCHEMES]
        return description

    app.openapi = describe_with_security  # type: ignore[method-assign]


def get_principal(request: Request) -> Principal:
    """Who sent this request."""
    principal: Principal = request.state.principal
    return principal


class Authentication:
    """Decides by the headers alone: before the body is read, and before it is known whether the path exists.

    WebSockets authenticate themselves, because their first message may carry the credential: see `realtime.session`.
    """

    def __init__(self, app: ASGIApp, verifier: Verifier) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        # A browser's preflight (OPTIONS) carries no credential, and no route answers it.
        if scope["type"] == "http" and not _is_public(scope["path"]) and scope["method"] != "OPTIONS":
            try:
                principal = await self._authenticate(HTTPConnection(scope))
            except SvcError as error:
                response = render_error(error)
                if error.http_status == 401:
                    response.headers["www-authenticate"] = "Bearer"
                await response(scope, receive, send)
                return
            scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)

    async def _authenticate(self, request: HTTPConnection) -> Principal:
        principal = await self._verifier.verify(read_header_credential(request))
        speech = _is_speech_path(request.scope["method"], request.scope["path"])
        if not principal.may(*([Scope.TTS] if speech else [])):
            raise InsufficientScope
        return principal


def _is_public(path: str) -> bool:
    return path in _PUBLIC or path.startswith(_PUBLIC_BELOW)


def _is_speech_path(method: str, path: str) -> bool:
    return any(
        (path == root or path.startswith(f"{root}/")) and (methods is None or method in methods)
        for root, methods in _SPEECH_PATHS.items()
    )


def read_header_credential(connection: HTTPConnection) -> str | None:
    """`xi-api-key`, which only a client of this API sends, or else `Authorization: Bearer …`.

    What another scheme carries, such as a proxy's password, is not meant for this service: no key was sent.
    """
    if key := _header(connection, "xi-api-key"):
        return key
    scheme, separator, credential = _header(connection, "authorization").partition(" ")
    if scheme.lower() == "bearer":
        return credential.strip() or None
    return _INVALID if scheme and not separator else None


def _header(connection: HTTPConnection, name: str) -> str:
    # ASGI servers decode headers as Latin-1.
    return connection.headers.get(name, "").encode("latin-1").decode("utf-8", "replace").strip()


def read_handshake_credential(connection: HTTPConnection) -> str | None:
    """The credential of a WebSocket handshake: in a header or, from browsers, which can set none, in the query."""
    query = connection.query_params
    return (
        read_header_credential(connection)
        or _strip_scheme(query.get("authorization", ""))
        or _strip_scheme(query.get("single_use_token", ""))
    )


def read_message_credential(message: Mapping[str, object]) -> str | None:
    """The credential in the first message of a WebSocket."""
    for field in CREDENTIAL_FIELDS:
        value = message.get(field)
        if isinstance(value, str) and (credential := _strip_scheme(value)):
            return credential
    return None


def _strip_scheme(value: str) -> str | None:
    scheme, _, credential = value.strip().partition(" ")
    return (credential.strip() if scheme.lower() == "bearer" else value.strip()) or None
