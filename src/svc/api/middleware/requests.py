"""What every request passes through: its id, the state of the server, the limits of its address, and compression."""

import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.errors import render_error
from svc.errors import AddressTooLong, ShuttingDown
from svc.observability.request_id import request_id as current_request_id
from svc.process.lifecycle import Lifecycle

# The second one is the refusal of a WebSocket.
_RESPONSE_STARTS = ("http.response.start", "websocket.http.response.start")

_OPERATIONS = frozenset({"/health", "/readyz", "/metrics"})

LONGEST_ADDRESS = 8_192  # bytes; that of a socket may not be longer either


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


class TidyAddress:
    """Refuses an address that is too long, and leaves out query parameters that are empty."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        query: bytes = scope["query_string"]
        if len(scope.get("raw_path") or b"") + len(query) > LONGEST_ADDRESS:
            await render_error(AddressTooLong(LONGEST_ADDRESS))(scope, receive, send)
            return
        scope["query_string"] = b"&".join(each for each in query.split(b"&") if each.partition(b"=")[2])
        await self._app(scope, receive, send)
