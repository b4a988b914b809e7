"""What a request body may be: JSON where JSON is asked for, and neither endless nor huge."""

import asyncio
import re

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.errors import rendered
from svc.errors import BodyTimeout, BodyTooLarge, UnsupportedMediaType

# Where recordings arrive: more bytes than anywhere else.
_UPLOADS = re.compile(r"/voices|/v1/voices/add|/v1/voices/[^/]+/edit")


def json_only(request: Request) -> None:
    """Refuses a body that says it is something else; one that says nothing is taken for JSON."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type and content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaType(content_type)


def install(app: FastAPI, max_bytes: int, max_seconds: float, max_clip_bytes: int) -> None:
    app.add_middleware(BoundedBody, max_bytes=max_bytes, max_seconds=max_seconds, max_clip_bytes=max_clip_bytes)


class BoundedBody:
    """Takes a body in whole before anything works on it, within bounds of size and time.

    Recordings are counted as they pass, and not held: what reads them puts them on the disk.
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
        if scope["method"] == "POST" and _UPLOADS.fullmatch(scope["path"]):
            await self._app(scope, self._counted(receive), send)
            return
        try:
            async with asyncio.timeout(self._max_seconds):
                body = await self._body(receive)
        except TimeoutError:
            await rendered(BodyTimeout(self._max_seconds))(scope, receive, send)
        except BodyTooLarge as error:
            await rendered(error)(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)

    def _counted(self, receive: Receive) -> Receive:
        """The same messages; raises when they are too many or too slow, at the pace that any body has to keep."""
        seconds = self._max_seconds * max(1.0, self._max_clip_bytes / self._max_bytes)
        until = asyncio.get_running_loop().time() + seconds
        size = 0
        whole = False

        async def counted() -> Message:
            nonlocal size, whole
            if whole:  # now it tells when the client hangs up, however long that takes
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise BodyTimeout(seconds) from None
            size += len(message.get("body", b""))
            if size > self._max_clip_bytes:
                raise BodyTooLarge(self._max_clip_bytes, "SVC_MAX_CLIP_BYTES")
            whole = not message.get("more_body", False)
            return message

        return counted

    async def _body(self, receive: Receive) -> Message:
        """The whole body as one message; a client that hangs up meanwhile gives its disconnect instead."""
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


def _replayed(body: Message, receive: Receive) -> Receive:
    pending = [body]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
