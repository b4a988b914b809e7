"""The id of the request that is being handled, for log lines and error messages."""

from contextvars import ContextVar

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
