"""Bodies of requests that clone or change a voice: recordings and fields, as a form or as JSON."""

import ast
import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from svc.api.speech.schemas import LONGEST_DESCRIPTION, replace_lone_surrogates
from svc.api.voices.json_uploads import InvalidUpload, parse_json
from svc.errors import InvalidForm, UnsupportedMediaType, UploadInterrupted
from svc.text.language.languages import Language

MOST_FILES, _MOST_FIELDS, _MOST_FIELD_BYTES = 25, 50, 64_000
_TEXT_FIELDS = frozenset(
    {"name", "display_name", "description", "labels", "language", "language_code", "consent", "refine"}
)
MAX_NAME_LENGTH = 100
MOST_LABELS, LONGEST_LABEL = 30, 300
_TRUE = frozenset({"true", "1", "yes", "on"})
_UNSET = frozenset({"", "null", "none", "undefined"})


@dataclass(frozen=True, slots=True)
class Upload:
    clips: list[bytes]
    fields: Mapping[str, Any]

    def name(self) -> str | None:
        """The name, if there is one; raises when it is not allowed."""
        given = [self._text("name"), self._text("display_name")]
        name = next((each for each in given if each), given[0])
        if name is None:
            return None
        name = " ".join(name.split())
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise invalid_field("name", f"must have 1 to {MAX_NAME_LENGTH} printable characters")
        return name

    def description(self) -> str | None:
        description = self._text("description")
        if description is not None and len(description) > LONGEST_DESCRIPTION:
            raise invalid_field("description", f"must have at most {LONGEST_DESCRIPTION} characters")
        return description

    def labels(self) -> dict[str, str] | None:
        """Clients send an object, JSON, a Python dictionary as text, `null`, nothing, or what a person typed."""
        labels = self.fields.get("labels")
        if isinstance(labels, str):
            labels = _parse_labels(labels.strip())
        if labels is None:
            return None
        if not isinstance(labels, dict):
            raise invalid_field("labels", "must be an object")
        if len(labels) > MOST_LABELS:
            raise invalid_field("labels", f"at most {MOST_LABELS} labels are allowed")
        try:
            return {_label(name): _label(value) for name, value in labels.items() if value is not None}
        except (TypeError, ValueError, RecursionError):  # a set, or a number of thousands of digits
            raise invalid_field("labels", "must be texts") from None

    def language(self) -> Language | None:
        code = self._text("language") or self._text("language_code")
        if not code or code.strip().lower() in _UNSET:
            return None
        language = Language.parse(code)
        if language is None:
            raise invalid_field("language", f"unknown language; valid values: {', '.join(Language)}")
        return language.base

    def flag(self, name: str) -> bool | None:
        """Whether a flag is set; None when it is absent."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, bool | int | float | str):
            raise invalid_field(name, "must be true or false")
        text = str(value).strip().lower()
        return None if text in _UNSET else text in _TRUE

    def check(self) -> None:
        """Raises if a field that was given is not allowed."""
        self.name(), self.description(), self.labels(), self.language(), self.flag("consent"), self.flag("refine")

    def _text(self, name: str) -> str | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise invalid_field(name, "must be a string")
        return replace_lone_surrogates(value)


async def read_upload(request: Request, check: Callable[[Upload], None]) -> Upload:
    """Reads the request's body. The names and content types of files are ignored.

    `check` gets the fields of a form as they come, so that a wrong one is refused before the recordings after it are
    read; it is called for the last time when all are there.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if content_type in ("multipart/form-data", "application/x-www-form-urlencoded"):
            upload = await _read_form(request, check, is_multipart=content_type == "multipart/form-data")
        elif content_type in ("", "application/json") or content_type.endswith("+json"):
            parts = [part async for part in request.stream()]
            upload = Upload(*await asyncio.to_thread(parse_json, parts, MOST_FILES, _TEXT_FIELDS))
        else:
            raise UnsupportedMediaType(content_type, "a form (multipart/form-data) or JSON")
    except ClientDisconnect:
        raise UploadInterrupted from None
    except InvalidUpload as problem:
        location = ("body", problem.field) if problem.field else ("body",)
        raise RequestValidationError([{"loc": location, "msg": str(problem), "type": "value_error"}]) from None
    check(upload)
    return upload


class _MultiPartParser(MultiPartParser):
    """Knows whether the form was complete; the parser itself accepts one that breaks off."""

    complete = False

    def on_end(self) -> None:
        self.complete = True


async def _read_form(request: Request, check: Callable[[Upload], None], *, is_multipart: bool) -> Upload:
    async def checked_stream() -> AsyncGenerator[bytes, None]:
        checked = 0
        async for part in request.stream():
            yield part
            # By now the parser has taken that part of the body.
            if isinstance(parser, _MultiPartParser) and len(parser.items) > checked:
                checked = len(parser.items)
                check(Upload([], _collect_fields(parser.items)))
        if isinstance(parser, _MultiPartParser) and not parser.complete:
            raise MultiPartException("It ends before its last boundary.")

    limits = {"max_fields": _MOST_FIELDS, "max_part_size": _MOST_FIELD_BYTES}
    parser: _MultiPartParser | FormParser
    if is_multipart:
        parser = _MultiPartParser(request.headers, checked_stream(), max_files=MOST_FILES, **limits)
    else:
        parser = FormParser(request.headers, checked_stream(), **limits)
    try:
        form = await parser.parse()
    except MultiPartException as problem:
        raise InvalidForm(problem.message) from None
    try:
        parts = form.multi_items()
        fields = _collect_fields(parts)
        return Upload([await part.read() for _, part in parts if isinstance(part, UploadFile)], fields)
    finally:
        await form.close()


def _collect_fields(parts: list[tuple[str, str | UploadFile]]) -> dict[str, str]:
    """The text fields; raises if one is given twice, or as a file."""
    fields: dict[str, str] = {}
    for name, value in parts:
        if name in _TEXT_FIELDS and not isinstance(value, str):
            raise invalid_field(name, "must be text, not a file")
        if isinstance(value, str):
            if name in _TEXT_FIELDS and name in fields:
                raise invalid_field(name, "is given twice")
            fields[name] = value
    return fields


def invalid_field(field: str, problem: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", field), "msg": problem, "type": "value_error"}])


def _label(value: object) -> str:
    """A label, or its name, as text."""
    text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    return replace_lone_surrogates(text[:LONGEST_LABEL])


def _parse_labels(text: str) -> dict[str, Any] | None:
    """Parses labels sent as text; text that is no dictionary becomes the description."""
    if text.lower() in _UNSET:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text[:10_000])
        except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict):
            return value
        if value is None:
            return None
    return {"description": text}
