"""Every response carries an id of its request, under the names that clients look for; the log names it, too."""

from uuid import uuid4

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The second is the refusal of a socket.
_STARTS = ("http.response.start", "websocket.http.response.start")


def install(app: FastAPI) -> None:
    app.add_middleware(RequestId)


class RequestId:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] in _STARTS:
                headers = MutableHeaders(scope=message)
                headers["request-id"] = headers["x-request-id"] = headers["x-trace-id"] = request_id
            await send(message)

        await self._app(scope, receive, send_with_id)
