"""The bodies of requests: how large they may be, how long they may take, and how JSON is read.

Nothing is read before a route asks for it, so a body costs no memory where none is wanted.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.errors import render_error
from svc.api.input_budget import InputBudget, Reservation
from svc.api.json_objects import InvalidJson, read_object
from svc.api.speech.schemas import list_names
from svc.auth.keys import Principal
from svc.errors import BodyTimeout, BodyTooLarge, UnsupportedMediaType
from svc.settings import Settings

# Paths that take recordings, which are larger than any other body.
_UPLOAD_PATHS = re.compile(r"/voices|/v1/voices/add|/v1/voices/[^/]+/edit")
_METHODS = frozenset({"POST", "PUT", "PATCH"})

_LONGEST_CHARACTER = 12  # bytes: two surrogates, \ud83d\ude00
_OTHER_FIELDS_BYTES = 20_000

_CHARSETS = re.compile(
    r"utf-?(8|16|32)([lb]e)?|(us-)?ascii|latin-?1|iso-8859-\d+|(windows-|cp)125\d|koi8-[ru]"
    r"|gb(k|2312|18030)|big5|shift[-_]jis|euc-(jp|kr)"
)


class BodyLimits:
    """Bounds the body of each request in size and time, and those of all together in size."""

    def __init__(self, app: ASGIApp, settings: Settings, budget: InputBudget) -> None:
        self._app = app
        self._settings = settings
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        encoding = Headers(scope=scope).get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):  # a small body may be a huge one, compressed
            error = UnsupportedMediaType(encoding, "an uncompressed body, without Content-Encoding")
            await render_error(error)(scope, receive, send)
            return
        if scope["method"] not in _METHODS:  # no such route reads a body
            await self._app(scope, receive, send)
            return
        with self._budget.open() as reservation:
            await self._app(scope, self._limit(scope, receive, reservation), send)

    def _limit(self, scope: Scope, receive: Receive, reservation: Reservation) -> Receive:
        """The same messages; raises when they are too many, or slower than the rate that any body has to keep."""
        limit, refusal = self._find_limit(scope)
        seconds = self._settings.max_body_seconds * max(1.0, limit / self._settings.max_body_bytes)
        deadline = asyncio.get_running_loop().time() + seconds
        size = 0
        complete = False

        async def receive_within_limits() -> Message:
            nonlocal size, complete
            if complete:  # what follows is the client's disconnect, which may take any time
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise BodyTimeout(seconds) from None
            size += len(message.get("body", b""))
            if size > limit:
                raise refusal
            reservation.resize(size)
            complete = not message.get("more_body", False)
            return message

        return receive_within_limits

    def _find_limit(self, scope: Scope) -> tuple[int, BodyTooLarge]:
        """The largest body that is allowed, and the refusal of a larger one."""
        settings = self._settings
        if scope["method"] == "POST" and _UPLOAD_PATHS.fullmatch(scope["path"]):
            return settings.max_clip_bytes, BodyTooLarge(settings.max_clip_bytes, "SVC_MAX_CLIP_BYTES")
        principal: Principal | None = scope.get("state", {}).get("principal")
        # A token may only speak, and so it needs no more than the longest text does.
        longest = _LONGEST_CHARACTER * settings.max_characters + _OTHER_FIELDS_BYTES
        if longest < settings.max_body_bytes and not (principal and principal.may()):
            return longest, BodyTooLarge(longest, "the limit of tokens")
        return settings.max_body_bytes, BodyTooLarge(settings.max_body_bytes)


class JsonRoute(APIRoute):
    """A route whose body, if it has one, is JSON: see `svc.api.json_objects`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        names = list_names(self.body_field.field_info.annotation)

        async def read_and_handle(request: Request) -> Response:
            _require_json(request)
            body = b"".join([part async for part in request.stream()])
            document = await _parse(body, request.headers.get("content-type", ""), names) if body else None
            has_body = bool(body)
            del body  # the route may take long
            return await handle(_ParsedRequest(request, document, has_body))

        return read_and_handle


class _ParsedRequest(Request):
    def __init__(self, request: Request, document: Any, has_body: bool) -> None:
        super().__init__(request.scope, request.receive)
        self._document = document
        self._has_body = has_body

    async def body(self) -> bytes:
        return b"{}" if self._has_body else b""  # FastAPI only asks whether there is one

    async def json(self) -> Any:
        return self._document


def _require_json(request: Request) -> None:
    """Refuses a body that says it is something else; one that says nothing is taken for JSON."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type and content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaType(content_type)


async def _parse(body: bytes, content_type: str, names: Collection[str]) -> Any:
    try:
        return await read_object(_decode(body, content_type), names)
    except InvalidJson as problem:
        raise _invalid_body(problem.position, str(problem), "json_invalid") from None


def _invalid_body(position: int, problem: str, kind: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", position), "msg": problem, "type": kind}])


def _decode(body: bytes, content_type: str) -> str:
    """The text, in the charset that the header names if that is a known one, or else in UTF-8."""
    charset = parse_options_header(content_type)[1].get(b"charset", b"").decode("latin-1").lower()
    try:
        if _CHARSETS.fullmatch(charset) and not charset.startswith(("utf-8", "utf8")):
            return body.decode(charset)
    except UnicodeDecodeError as problem:
        raise _invalid_body(problem.start, f"is not {charset}", "string_unicode") from None
    except LookupError:  # no such part of ISO 8859
        pass
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        message = "is not UTF-8, and Content-Type names no other charset"
        raise _invalid_body(problem.start, message, "string_unicode") from None
