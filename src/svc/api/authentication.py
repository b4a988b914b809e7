"""Who may call what. Every path needs a full key, but for those that are named here."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from svc.api.errors import rendered
from svc.auth.keys import Principal, Scope
from svc.auth.verifier import Verifier
from svc.errors import InsufficientScope, SvcError

_PUBLIC = frozenset({"/", "/health", "/readyz", "/docs", "/openapi.json", "/favicon.ico"})
# A voice's introduction is played by <audio> elements, which can send no credential; nor can what loads a page.
_PUBLIC_BELOW = ("/previews/", "/docs/", "/page/")

# What a credential that may only speak is good for: a path and all below it, by these methods or by any.
_SPEAKING = {"/v1/text-to-speech": None, "/v1/voices": {"GET"}}

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "xi-api-key": {"type": "apiKey", "in": "header", "name": "xi-api-key"},
}

# Where the first message of a socket may carry a credential.
_MESSAGE_FIELDS = ("authorization", "xi_api_key", "xi-api-key")


def install(app: FastAPI, verifier: Verifier) -> None:
    """Must be called before what adds headers to every answer, errors included: that has to lie outside of this."""
    app.add_middleware(Authentication, verifier=verifier)
    if not verifier.open:
        _document(app)


def _document(app: FastAPI) -> None:
    """Tells the API's description how to send a key, which gives the docs page its Authorize button."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        description = describe()
        description.setdefault("components", {})["securitySchemes"] = _SECURITY_SCHEMES
        for path, operations in description["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if _is_public(path) else [{name: []} for name in _SECURITY_SCHEMES]
        return description

    app.openapi = described  # type: ignore[method-assign]


def principal_of(request: Request) -> Principal:
    """Who sent this request."""
    principal: Principal = request.state.principal
    return principal


class Authentication:
    """Judges a request by its headers alone: before its body is read and before it is known whether its path exists.

    Sockets are left to themselves, because their first message may carry the credential: they must call
    `Verifier.admit` with `handshake_credential` or `message_credential`.
    """

    def __init__(self, app: ASGIApp, verifier: Verifier) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        # OPTIONS is how a browser asks whether it may ask; it carries no credential and no route answers it.
        if scope["type"] == "http" and not _is_public(scope["path"]) and scope["method"] != "OPTIONS":
            try:
                principal = await self._judge(HTTPConnection(scope))
            except SvcError as error:
                response = rendered(error)
                if error.http_status == 401:
                    response.headers["www-authenticate"] = "Bearer"
                await response(scope, receive, send)
                return
            scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)

    async def _judge(self, request: HTTPConnection) -> Principal:
        principal = await self._verifier.verify(header_credential(request))
        speaking = _is_speaking(request.scope["method"], request.scope["path"])
        if not principal.may(*([Scope.TTS] if speaking else [])):
            raise InsufficientScope
        return principal


def _is_public(path: str) -> bool:
    return path in _PUBLIC or path.startswith(_PUBLIC_BELOW)


def _is_speaking(method: str, path: str) -> bool:
    return any(
        (path == root or path.startswith(f"{root}/")) and (methods is None or method in methods)
        for root, methods in _SPEAKING.items()
    )


def header_credential(connection: HTTPConnection) -> str | None:
    """`xi-api-key`, which only a client of this API sends, or else `Authorization: Bearer …`."""
    if key := _header(connection, "xi-api-key"):
        return key
    scheme, _, credential = _header(connection, "authorization").partition(" ")
    return (credential.strip() or None) if scheme.lower() == "bearer" else None


def _header(connection: HTTPConnection, name: str) -> str:
    # Servers hand headers over as Latin-1, whatever they are.
    return connection.headers.get(name, "").encode("latin-1").decode("utf-8", "replace").strip()


def handshake_credential(connection: HTTPConnection) -> str | None:
    """What a socket brings along: in a header or, from browsers, which can set none, in the address."""
    query = connection.query_params
    return (
        header_credential(connection)
        or _without_scheme(query.get("authorization", ""))
        or _without_scheme(query.get("single_use_token", ""))
    )


def message_credential(message: Mapping[str, object]) -> str | None:
    """What the first message of a socket brings along."""
    for field in _MESSAGE_FIELDS:
        value = message.get(field)
        if isinstance(value, str) and (credential := _without_scheme(value)):
            return credential
    return None


def _without_scheme(value: str) -> str | None:
    scheme, _, credential = value.strip().partition(" ")
    return (credential.strip() if scheme.lower() == "bearer" else value.strip()) or None
