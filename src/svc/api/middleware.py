"""What every request passes through: its id, the state of the server, the limits of its body, and its compression."""

import asyncio
import re
from uuid import uuid4

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.errors import render_error
from svc.errors import BodyTimeout, BodyTooLarge, ShuttingDown, UnsupportedMediaType
from svc.lifecycle import Lifecycle
from svc.request_id import request_id as current_request_id

# The second one is the refusal of a WebSocket.
_RESPONSE_STARTS = ("http.response.start", "websocket.http.response.start")

_OPERATIONS = frozenset({"/health", "/readyz", "/metrics"})

# Paths that take recordings, which are larger than any other body.
_UPLOAD_PATHS = re.compile(r"/voices|/v1/voices/add|/v1/voices/[^/]+/edit")


_REFUSES_GZIP = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")


class RequestId:
    """Gives every request an id and sends it in the headers that clients look for; error logs name it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        current_request_id.set(request_id)

        async def send_with_id(message: Message) -> None:
            if message["type"] in _RESPONSE_STARTS:
                headers = MutableHeaders(scope=message)
                headers["request-id"] = headers["x-request-id"] = headers["x-trace-id"] = request_id
            await send(message)

        await self._app(scope, receive, send_with_id)


class RefuseWhileDraining:
    """Refuses all new requests and sockets of a server that is shutting down, but those that ask how it is."""

    def __init__(self, app: ASGIApp, lifecycle: Lifecycle) -> None:
        self._app = app
        self._lifecycle = lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not self._lifecycle.draining or scope["path"] in _OPERATIONS:
            await self._app(scope, receive, send)
            return
        response = render_error(ShuttingDown())
        response.headers["connection"] = "close"  # the next request of this client goes to another server
        await response(scope, receive, send)


class HeadAsGet:
    """Answers HEAD on every path that has GET, as GET is answered, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        headers = [each for each in scope["headers"] if each[0] != b"range"]  # which only GET has
        await self._app({**scope, "method": "GET", "headers": headers}, receive, send_without_body)


class CompressJson(GZipMiddleware):
    """Compresses what is read as JSON, such as the list of voices. Audio and streams are sent as they are made."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            app,
            minimum_size=1000,
            compresslevel=5,
            thread_minimum_size=20_000,
            exclude_content_types=("application/x-ndjson", "audio/*", "font/*", "image/*", "text/*"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        if _REFUSES_GZIP.search(Headers(scope=scope).get("accept-encoding", "")):
            scope = {**scope, "headers": [each for each in scope["headers"] if each[0] != b"accept-encoding"]}
        await super().__call__(scope, receive, send)


async def require_json(request: Request) -> None:
    """Refuses a body that says it is something else; one that says nothing is taken for JSON.

    It waits for nothing, but what is not `async` would be run in a thread of its own.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type and content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaType(content_type)


class BodyLimits:
    """Reads a body whole before any handler runs, within limits of size and time.

    Recordings are counted as they pass and not held here: the form parser puts them on disk.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_seconds: float, max_clip_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._max_clip_bytes = max_clip_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        encoding = Headers(scope=scope).get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):  # a small body may be a huge one, compressed
            error = UnsupportedMediaType(encoding, "an uncompressed body, without Content-Encoding")
            await render_error(error)(scope, receive, send)
            return
        if scope["method"] == "POST" and _UPLOAD_PATHS.fullmatch(scope["path"]):
            await self._app(scope, self._limit_upload(receive), send)
            return
        try:
            async with asyncio.timeout(self._max_seconds):
                body = await self._read_body(receive)
        except TimeoutError:
            await render_error(BodyTimeout(self._max_seconds))(scope, receive, send)
        except BodyTooLarge as error:
            await render_error(error)(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

    def _limit_upload(self, receive: Receive) -> Receive:
        """The same messages; raises when they are too many, or slower than the rate that any body has to keep."""
        seconds = self._max_seconds * max(1.0, self._max_clip_bytes / self._max_bytes)
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
            if size > self._max_clip_bytes:
                raise BodyTooLarge(self._max_clip_bytes, "SVC_MAX_CLIP_BYTES")
            complete = not message.get("more_body", False)
            return message

        return receive_within_limits

    async def _read_body(self, receive: Receive) -> Message:
        """The whole body as one message; or the disconnect of a client that hangs up meanwhile."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return message
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_bytes:
                raise BodyTooLarge(self._max_bytes)
            more = message.get("more_body", False)
        return {"type": "http.request", "body": b"".join(parts), "more_body": False}


def _replay(body: Message, receive: Receive) -> Receive:
    pending = [body]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
