"""Renders every error in one shape: `{"detail": {"status": …, "message": …, …}}`, or the validation list of a 422.

On the paths of the OpenAI API it is `{"error": {"message": …, "type": …, "param": …, "code": …}}`, wherever it arises.
"""

import json
import logging
import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.api.json_objects import Oversized
from svc.errors import SvcError, classify
from svc.observability.request_id import request_id

log = logging.getLogger(__name__)

_STATUS_NAMES = {404: "not_found", 405: "method_not_allowed"}


class Detail(BaseModel):
    status: str
    message: str
    type: str = Field(description="A coarse class of errors, such as `validation_error` or `rate_limit_error`.")
    code: str = Field(description="The same as `status`, or the newer name of it.")
    request_id: str | None = Field(description="The id of the request, as in the header `request-id`.")
    param: str | None = Field(description="The field or parameter at fault; null if it is none of them.")


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
    status: {"model": ErrorShape} for status in (400, 401, 403, 404, 408, 413, 414, 415, 429, 500, 501, 503)
}


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(SvcError, _handle_svc_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)


def render_error(error: SvcError) -> JSONResponse:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    response = _envelope(
        error.http_status, error.status, error.message, code=error.code, param=error.param, headers=headers
    )
    response.error = error
    return response


def _envelope(
    http_status: int,
    status: str,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> "_ErrorResponse":
    detail = Detail(
        status=status,
        message=message,
        type=classify(http_status),
        code=code or status,
        request_id=request_id.get(),
        param=param,
    )
    return _ErrorResponse({"detail": detail.model_dump()}, http_status, headers)


class _ErrorResponse(JSONResponse):
    error: SvcError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.error:
            note_error(scope, self.error)
        if is_openai_path(scope["path"]):  # only here is the path known, also of what middleware refuses
            detail = json.loads(bytes(self.body))["detail"]
            self.body = _render_for_openai(self.status_code, detail["message"], detail["param"], detail["code"])
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


# Also those of clients whose base URL has a part too few or too many.
_OPENAI_PATHS = re.compile(r"(/+v1)*/+(openai|audio)(/|$)|/+models(/|$)")
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_OPENAI_PARAMS = {"text": "input", "voice_id": "voice", "output_format": "response_format"}


def is_openai_path(path: str) -> bool:
    return _OPENAI_PATHS.match(path) is not None


def _render_for_openai(http_status: int, message: str, param: str | None, code: str | None) -> bytes:
    kind = _OPENAI_TYPES.get(http_status, "invalid_request_error" if http_status < 500 else "server_error")
    error = {"message": message, "type": kind, "param": _OPENAI_PARAMS.get(param or "", param), "code": code}
    return json.dumps({"error": error}).encode()


def note_error(scope: Scope, error: SvcError) -> None:
    """Leaves the error that ends a request or socket where the metrics find it."""
    scope.setdefault("state", {})["error"] = error


async def _handle_svc_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SvcError)
    return render_error(error)


_MOST_PROBLEMS = 20
_LONGEST_PART, _LONGEST_MESSAGE = 100, 300


def describe_problem(error: Mapping[str, Any]) -> Problem:
    """What is wrong and where, without the input itself, which may be long or not even text."""
    place = [part[:_LONGEST_PART] if isinstance(part, str) else part for part in error["loc"]]
    if isinstance(error.get("input"), Oversized):
        return Problem(loc=place, msg="has too many elements", type="too_long")
    return Problem(loc=place, msg=error["msg"][:_LONGEST_MESSAGE], type=error["type"])


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [describe_problem(each) for each in error.errors()[:_MOST_PROBLEMS]]
    if is_openai_path(request.scope["path"]):
        first = problems[0]
        field = ".".join(part for part in first.loc[1:] if isinstance(part, str))
        message = f"{field or 'The body'} {_say_what_is_wrong(first.type, first.msg)}."
        return Response(_render_for_openai(400, message, field or None, None), 400, media_type="application/json")
    return JSONResponse({"detail": [each.model_dump() for each in problems]}, 422)


_PROBLEMS = {
    "missing": "is required",
    "json_invalid": "is not valid JSON",
    "model_attributes_type": "must be a JSON object",
    "string_type": "must be a string",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
}


def _say_what_is_wrong(kind: str, message: str) -> str:
    """The rest of a sentence that begins with the field; pydantic's begin with what it calls the input."""
    return _PROBLEMS.get(kind) or re.sub(r"^(Value error, |\w+ should )(must )?", "must ", message)


async def _handle_http_exception(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    name = _STATUS_NAMES.get(error.status_code, "bad_request" if error.status_code < 500 else "internal_error")
    return _envelope(error.status_code, name, str(error.detail), headers=dict(error.headers or {}))


class CatchUnexpected:
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
        except ClientDisconnect:
            pass  # the client broke off its upload: nobody is left to answer
        except Exception:
            if scope["type"] != "http" or started:
                raise
            log.exception("request %s failed", request_id.get())
            message = f"Internal error. The server log has the details of request {request_id.get()}."
            await _envelope(500, "internal_error", message)(scope, receive, send)
