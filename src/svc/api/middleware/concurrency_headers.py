"""`current-concurrent-requests` and `maximum-concurrent-requests`, with which clients pace themselves."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.admission.admission import Admission
from svc.auth.keys import Principal


class ConcurrencyHeaders:
    """Tells on every response to a key how many of its texts are being synthesized, and how many may be."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal | None = scope.get("state", {}).get("principal")
        if scope["type"] != "http" or principal is None:
            await self._app(scope, receive, send)
            return

        async def send_with_counts(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["current-concurrent-requests"] = str(self._admission.count(principal))
                headers["maximum-concurrent-requests"] = str(self._admission.limits_of(principal).max_streams)
            await send(message)

        await self._app(scope, receive, send_with_counts)
