"""Counts every request and socket by route and status, and every refusal by reason."""

import re
from collections.abc import Iterable, Iterator

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.observability.metrics import Metrics

# Anybody can send any method and any path: what no route knows has one label for all.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UNMATCHED = "unmatched"
_HUNG_UP = 499  # as nginx has it


class RouteTemplates:
    """Finds the template of a path, such as `/v1/voices/{voice_id}`, also if the request never gets to its route."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._templates = list(_list_templates(routes))

    def find(self, path: str) -> str:
        return next((template for pattern, template in self._templates if pattern.match(path)), _UNMATCHED)


def _list_templates(routes: Iterable[BaseRoute]) -> Iterator[tuple[re.Pattern[str], str]]:
    for route in routes:
        if included := getattr(route, "original_router", None):  # FastAPI keeps included routers as they are
            yield from _list_templates(included.routes)
        elif pattern := getattr(route, "path_regex", None):
            yield pattern, getattr(route, "path_format", _UNMATCHED)


def name_method(scope: Scope) -> str:
    if scope["type"] == "websocket":
        return "WEBSOCKET"
    return scope["method"] if scope["method"] in _METHODS else "other"


def read_status(message: Message) -> int | None:
    """The status of a response that this message begins; 101 is an accepted socket."""
    match message["type"]:
        case "http.response.start" | "websocket.http.response.start":
            status: int = message["status"]
            return status
        case "websocket.accept":
            return 101
        case "websocket.close":  # counts only if it is the first message: refused, which servers render as a 403
            return 403
    return None


class RequestMetrics:
    def __init__(self, app: ASGIApp, metrics: Metrics, templates: RouteTemplates) -> None:
        self._app = app
        self._metrics = metrics
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        labels = name_method(scope), self._templates.find(scope["path"])
        counted = False

        def count(status: int) -> None:
            nonlocal counted
            counted = True
            self._metrics.requests.labels(*labels, status).inc()

        async def send_and_count(message: Message) -> None:
            if not counted and (status := read_status(message)):
                count(status)
            await send(message)

        try:
            await self._app(scope, receive, send_and_count)
        except Exception:
            if not counted:
                count(500)
            raise
        finally:
            if not counted:
                count(_HUNG_UP)
            if error := scope.get("state", {}).get("error"):
                self._metrics.count_refusal(error)
