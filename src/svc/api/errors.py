"""Renders every error in one shape: `{"detail": {"status": …, "message": …}}`, or the validation list of a 422."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.errors import SvcError

log = logging.getLogger(__name__)

_STATUS_NAMES = {404: "not_found", 405: "method_not_allowed"}


class Detail(BaseModel):
    status: str
    message: str


class ErrorShape(BaseModel):
    """The body of every error except a 422."""

    detail: Detail


class Problem(BaseModel):
    """What is wrong with the request, and in which field."""

    loc: list[str | int]
    msg: str
    type: str


class ProblemsShape(BaseModel):
    """The body of a 422."""

    detail: list[Problem]


# For the OpenAPI document: what any path may answer.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorShape} for status in (400, 401, 403, 404, 408, 413, 415, 429, 500, 501, 503)
}


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(SvcError, _handle_svc_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_middleware(_CatchUnexpected)


def render_error(error: SvcError) -> JSONResponse:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    response = _envelope(error.http_status, error.status, error.message, headers)
    response.error = error
    return response


def _envelope(http_status: int, status: str, message: str, headers: dict[str, str] | None = None) -> "_ErrorResponse":
    return _ErrorResponse({"detail": {"status": status, "message": message}}, http_status, headers)


class _ErrorResponse(JSONResponse):
    error: SvcError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.error:
            note_error(scope, self.error)
        await super().__call__(scope, receive, send)


def note_error(scope: Scope, error: SvcError) -> None:
    """Leaves the error that ends a request or socket where the metrics find it."""
    scope.setdefault("state", {})["error"] = error


async def _handle_svc_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SvcError)
    return render_error(error)


async def _handle_validation_error(_: Request, error: Exception) -> JSONResponse:
    """What is wrong and where, without the input itself, which may be long or not even text."""
    assert isinstance(error, RequestValidationError)
    return JSONResponse(
        {"detail": [{"loc": each["loc"], "msg": each["msg"], "type": each["type"]} for each in error.errors()]},
        422,
    )


async def _handle_http_exception(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    name = _STATUS_NAMES.get(error.status_code, "bad_request" if error.status_code < 500 else "internal_error")
    return _envelope(error.status_code, name, str(error.detail), dict(error.headers or {}))


class _CatchUnexpected:
    """Turns an unexpected exception into a 500 that shows no internals; a response that has begun is cut off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except Exception:
            if scope["type"] != "http" or started:
                raise
            request_id = scope["state"]["request_id"]
            log.exception("request %s, %s %s, failed", request_id, scope["method"], scope["path"])
            message = f"Internal error. The server log has the details of request {request_id}."
            await _envelope(500, "internal_error", message)(scope, receive, send)
