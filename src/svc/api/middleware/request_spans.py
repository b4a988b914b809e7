"""A span for every request and socket. Only loaded if requests are traced."""

from functools import partial

from opentelemetry.trace import SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.middleware.request_metrics import RouteTemplates, name_method, read_status
from svc.observability.otlp import start_child
from svc.observability.tracing import start_span

_PROPAGATOR = TraceContextTextMapPropagator()
_PROPAGATED = (b"traceparent", b"tracestate")


class RequestSpans:
    """Spans tell the route and not the path, nor the query: these may hold credentials and the names of voices."""

    def __init__(self, app: ASGIApp, tracer: Tracer, templates: RouteTemplates) -> None:
        self._app = app
        self._tracer = tracer
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        method, route = name_method(scope), self._templates.find(scope["path"])
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _PROPAGATED}
        start_span.set(partial(start_child, self._tracer))
        with self._tracer.start_as_current_span(
            f"{method} {route}",
            context=_PROPAGATOR.extract(headers),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "http.route": route,
                "svc.observability.request_id": scope["state"]["request_id"],
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            status: int | None = None

            async def send_and_note(message: Message) -> None:
                nonlocal status
                status = status or read_status(message)
                await send(message)

            try:
                await self._app(scope, receive, send_and_note)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                if status:
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        span.set_status(StatusCode.ERROR)
                if refusal := scope["state"].get("error"):
                    span.set_attribute("svc.error", refusal.status)
