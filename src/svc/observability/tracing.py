"""Spans of the work that a request needs, if requests are traced; see `svc.observability.telemetry`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar

StartSpan = Callable[[str], AbstractContextManager[None]]

start_span: ContextVar[StartSpan | None] = ContextVar("start_span", default=None)
"""Set for requests that are traced."""


def span(name: str) -> AbstractContextManager[None]:
    """A span of the current request, as long as the block. The name is a constant, never what a client sent."""
    start = start_span.get()
    return start(name) if start else nullcontext()
