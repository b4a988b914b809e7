"""Bodies of requests that clone or change a voice: recordings and fields, as a form or as JSON."""

import ast
import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import UploadFile

from svc.api.schemas import replace_lone_surrogates
from svc.errors import UnsupportedMediaType
from svc.text.language import Language

_FILES = ("file", "files", "files[]")
_MOST_FILES = 25
MAX_NAME_LENGTH, _LONGEST_DESCRIPTION = 100, 2_000
_MOST_LABELS, _LONGEST_LABEL = 30, 300
_TRUE = frozenset({"true", "1", "yes", "on"})
_UNSET = frozenset({"", "null", "none", "undefined"})


@dataclass(frozen=True, slots=True)
class Upload:
    clips: list[bytes]
    fields: Mapping[str, Any]

    def name(self) -> str | None:
        """The name, if there is one; raises when it is not allowed."""
        name = self._text("name")
        if name is None:
            return None
        name = " ".join(name.split())
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise invalid_field("name", f"must have 1 to {MAX_NAME_LENGTH} printable characters")
        return name

    def description(self) -> str | None:
        description = self._text("description")
        if description is not None and len(description) > _LONGEST_DESCRIPTION:
            raise invalid_field("description", f"must have at most {_LONGEST_DESCRIPTION} characters")
        return description

    def labels(self) -> dict[str, str] | None:
        """Clients send an object, JSON, a Python dictionary as text, `null`, nothing, or what a person typed."""
        labels = self.fields.get("labels")
        if isinstance(labels, str):
            labels = _parse_labels(labels.strip())
        if labels is None:
            return None
        if len(labels) > _MOST_LABELS:
            raise invalid_field("labels", f"at most {_MOST_LABELS} labels are allowed")
        texts = {
            str(name)[:_LONGEST_LABEL]: (value if isinstance(value, str) else json.dumps(value))[:_LONGEST_LABEL]
            for name, value in labels.items()
            if value is not None
        }
        return {replace_lone_surrogates(name): replace_lone_surrogates(value) for name, value in texts.items()}

    def language(self) -> Language | None:
        code = self._text("language") or self._text("language_code")
        if not code or code.strip().lower() in _UNSET:
            return None
        language = Language.parse(code)
        if language is None:
            raise invalid_field("language", f"unknown language; valid values: {', '.join(Language)}")
        return language

    def flag(self, name: str) -> bool | None:
        """Whether a flag is set; None when it is absent."""
        value = str(self.fields.get(name, "")).strip().lower()
        return None if value in _UNSET else value in _TRUE

    def _text(self, name: str) -> str | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise invalid_field(name, "must be a string")
        return replace_lone_surrogates(value)


async def read_upload(request: Request) -> Upload:
    """Reads the request's body. The names and content types of files are ignored."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type in ("multipart/form-data", "application/x-www-form-urlencoded"):
        async with request.form(max_files=_MOST_FILES) as form:
            parts = form.multi_items()
            clips = [await part.read() for _, part in parts if isinstance(part, UploadFile)]
            return Upload(clips, {name: value for name, value in parts if isinstance(value, str)})
    if content_type in ("", "application/json") or content_type.endswith("+json"):
        return _from_json(await request.body())
    raise UnsupportedMediaType(content_type, "a form (multipart/form-data) or JSON")


def invalid_field(field: str, problem: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", field), "msg": problem, "type": "value_error"}])


def _from_json(body: bytes) -> Upload:
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise RequestValidationError([{"loc": ("body",), "msg": "not JSON", "type": "json_invalid"}]) from None
    if not isinstance(fields, dict):
        raise RequestValidationError([{"loc": ("body",), "msg": "must be an object", "type": "dict_type"}])
    clips = []
    for name in _FILES:
        given = fields.pop(name, None) or []
        clips += [_decode_base64(name, each) for each in (given if isinstance(given, list) else [given])]
    if len(clips) > _MOST_FILES:
        raise invalid_field("files", f"at most {_MOST_FILES} files are allowed")
    return Upload(clips, fields)


def _decode_base64(field: str, text: object) -> bytes:
    """Decodes Base64, bare or in the `data:` URL that a browser makes of a file."""
    if isinstance(text, str):
        try:
            return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
        except (ValueError, binascii.Error):
            pass
    raise invalid_field(field, "must be a file in base64")


def _parse_labels(text: str) -> dict[str, Any] | None:
    """Parses labels sent as text; text that is no dictionary becomes the description."""
    if text.lower() in _UNSET:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text[:10_000])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict):
            return value
        if value is None:
            return None
    return {"description": text}
